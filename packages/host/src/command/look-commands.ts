import { isPagurusError } from "@pagurus/contract/errors";
import { MODE_WORDS, PERMISSION_MODES, type PermissionMode } from "@pagurus/contract/host/permission-modes";
import { receiptDiffText, requestDiff } from "./receipt-diff.ts";
import { twoColumns } from "./layout.ts";
import { planCommand } from "./plan-command.ts";
import { receiptsText } from "./receipt-table.ts";
import { costRows, statusText } from "./status-text.ts";
import {
  EVERY_DOOR,
  say,
  THINKING_LEVELS,
  type CommandContext,
  type CommandResult,
  type SlashCommand,
} from "./command-types.ts";

async function status(_args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd, model, runtime, permission: chosen } = context;
  const report = await pagurus.status({ sessionKey, agentId, cwd, model, runtime });
  const permission =
    chosen === undefined ? report.permission : `${chosen} (chosen here; configured: ${report.permission})`;
  return say(statusText({ ...report, permission }));
}

/** A name without a slash can only be an alias, which the channel's check knows. */
async function checkedModel(
  name: string,
  { checkModel }: CommandContext,
): Promise<{ problem?: string; warning?: string }> {
  const found = await checkModel?.(name);
  if (/^[^/\s]+\/\S+$/.test(name)) return found ?? {};
  if (found && found.problem === undefined) return found;
  return { problem: `"${name}" is neither a model ref nor an alias; write provider/model.` };
}

async function model(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd, pick, models } = context;
  if (args === "" && pick && models) {
    const refs = ["default", ...(await models())].map((value) => ({ value, label: value }));
    const picked = await pick("Which model for the next turns?", refs);
    return picked === undefined ? say("") : model(picked, context);
  }
  if (args === "default") return say("Back to the configured model.", { type: "model" });
  if (args !== "") {
    const { problem, warning } = await checkedModel(args, context);
    if (problem !== undefined) return say(`${problem} The model stays as it is.`);
    const but = warning === undefined ? "" : ` But: ${warning}`;
    return say(`The next turns of this chat use ${args}.${but}`, { type: "model", model: args });
  }
  const report = await pagurus.status({ sessionKey, agentId, cwd });
  const chosen = context.model === undefined ? "" : `${context.model}, chosen here; configured: `;
  return say(
    `${chosen}${report.model.ref} (${report.model.source}). Change it with /model provider/model, or an alias.`,
  );
}

const CONFIGURED = "default";

function isMode(text: string): text is PermissionMode {
  return Object.hasOwn(MODE_WORDS, text);
}

/** The modes mean for commands what the sandbox of this machine does. `sandbox`: that of a status report, for example `bwrap: …`. */
function modesHere(sandbox: string): string {
  const [kind = "", ...detail] = sandbox.split(": ");
  if (kind === "none") return `On this machine: ${detail.join(": ")} The mode sandbox asks like ask.`;
  const [asks = ""] = /The permission mode sandbox asks like ask here.*/.exec(sandbox) ?? [];
  return `On this machine: commands run in a sandbox (${kind}), in each mode. ${asks}`.trimEnd();
}

async function permission(args: string, context: CommandContext): Promise<CommandResult> {
  const mode = args.toLowerCase();
  if (mode === CONFIGURED) return say("Back to the configured permission mode.", { type: "permission" });
  if (mode !== "" && !isMode(mode))
    return say(`There is no permission mode "${args}"; say ${[...PERMISSION_MODES, CONFIGURED].join(", ")}.`);
  const { pagurus, sessionKey, agentId, cwd, columns } = context;
  const { permission: configured, sandbox } = await pagurus.status({ sessionKey, agentId, cwd });
  if (mode !== "") {
    const here = mode === "sandbox" && sandbox.startsWith("none:") ? ` ${modesHere(sandbox)}` : "";
    const text = `The next turns of this chat have the permission mode ${mode}. ${MODE_WORDS[mode].says}${here}`;
    return say(text, { type: "permission", mode });
  }
  const now =
    context.permission === undefined
      ? `${configured} (configured)`
      : `${context.permission} (chosen here; configured: ${configured})`;
  const rows = PERMISSION_MODES.map((each) => ({
    left: `/permission ${each}`,
    right: MODE_WORDS[each].says,
  }));
  const all = [...rows, { left: `/permission ${CONFIGURED}`, right: "As configured." }];
  return say([`Permission mode: ${now}`, ...twoColumns(all, columns), modesHere(sandbox)].join("\n"));
}

async function thinking(args: string, { thinking: chosen, pick }: CommandContext): Promise<CommandResult> {
  const rows = [...THINKING_LEVELS, "default"].map((value) => ({ value, label: value }));
  const asked = args === "" ? ((await pick?.("How much thinking?", rows)) ?? "") : args.toLowerCase();
  if (asked === "default") return say("Back to the configured thinking.", { type: "thinking" });
  const level = THINKING_LEVELS.find((each) => each === asked);
  if (level)
    return say(`The next turns of this chat think: ${level}.`, { type: "thinking", thinking: level });
  if (asked === "")
    return say(
      `Thinking: ${chosen ?? "as configured"}. Say /thinking ${THINKING_LEVELS.join(", ")} or default.`,
    );
  return say(`There is no thinking level "${args}"; say ${THINKING_LEVELS.join(", ")} or default.`);
}

function output(args: string, { toolOutput }: CommandContext): Promise<CommandResult> {
  if (!toolOutput) return Promise.resolve(say("Tool outputs are shown here in full."));
  const number = args === "" ? undefined : Number(args);
  if (number !== undefined && !Number.isSafeInteger(number))
    return Promise.resolve(say("Say /output, or /output and the number beside a call."));
  return Promise.resolve(say(toolOutput(number)));
}

async function contextCommand(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId } = context;
  if (args !== "" && args !== "show" && args !== "diff") return say("Say /context show or /context diff.");
  try {
    if (args === "diff") return say(receiptDiffText(await requestDiff(pagurus, { sessionKey, agentId })));
    const receipts = await pagurus.context.receipts({ sessionKey, agentId });
    return say(receiptsText(receipts.slice(-1)));
  } catch (error) {
    // A conversation is stored with its first turn.
    if (isPagurusError(error) && error.code === "session_not_found") return say(receiptsText([]));
    throw error;
  }
}

async function cost(_args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd } = context;
  const report = await pagurus.status({ sessionKey, agentId, cwd });
  const rows = costRows(report);
  if (report.cost === undefined && report.session === undefined)
    return say("This conversation has cost nothing: it has made no request to a model yet.");
  if (rows.length === 0)
    return say("The cost is not known, because the configured model cannot be used; /status has the reason.");
  return say(rows.map(([label, value]) => `${label}: ${value}`).join("\n"));
}

/** Read-only commands. */
export const lookCommands: readonly SlashCommand[] = [
  {
    name: "status",
    doors: EVERY_DOOR,
    usage: "",
    summary: "Runtime, engine, model, context, degradations.",
    run: status,
  },
  planCommand,
  {
    name: "cost",
    usage: "",
    summary: "What the session and the day have cost, and the configured limits.",
    run: cost,
  },
  {
    name: "model",
    usage: "[ref]",
    summary: "Show or choose the model (default: the configured one).",
    run: model,
  },
  {
    name: "thinking",
    usage: "[level]",
    summary: "Show or choose how much the model thinks: off, low, medium, high.",
    run: thinking,
  },
  {
    name: "permission",
    usage: "[mode]",
    summary: `Show or choose what tools may do: ${PERMISSION_MODES.join(", ")} (default: the configured one).`,
    run: permission,
  },
  {
    name: "output",
    // An editor shows tool outputs by itself.
    doors: ["terminal"],
    usage: "[number]",
    summary: "The full output of a tool: the newest, or the one with this number; Ctrl-O does the same.",
    atOnce: () => true,
    run: output,
  },
  {
    name: "context",
    usage: "[show|diff]",
    summary: "The parts of the last model request, or what changed in it.",
    run: contextCommand,
  },
];
