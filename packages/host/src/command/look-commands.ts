import { isPagurusError } from "@pagurus/contract/errors";
import { diffText, requestDiff } from "./receipt-diff.ts";
import { time, twoColumns } from "./layout.ts";
import { planLines } from "./plan-text.ts";
import { receiptsText } from "./receipt-table.ts";
import { costRows, statusText } from "./status-text.ts";
import {
  say,
  type ChatPermission,
  type CommandContext,
  type CommandResult,
  type SlashCommand,
} from "./command-types.ts";

async function status(_args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd, model } = context;
  const report = await pagurus.status({ sessionKey, agentId, cwd });
  const chosen = model === undefined ? "" : `\nModel of this chat: ${model} (chosen with /model)`;
  return say(statusText(report) + chosen);
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
  const { pagurus, sessionKey, agentId, cwd } = context;
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

const MODES: Readonly<Record<ChatPermission | "default", string>> = {
  ask: "Changes need your permission.",
  deny: "Changes are refused without a question.",
  auto: "Everything is allowed, including reading outside the folder and local network addresses; only writing outside the folder still needs a rule.",
  "read-only": "Tools may only read, inside the folder.",
  default: "As configured.",
};

async function permission(args: string, context: CommandContext): Promise<CommandResult> {
  const mode = args.toLowerCase();
  if (mode !== "" && !Object.hasOwn(MODES, mode))
    return say(`There is no permission mode "${args}"; say ${Object.keys(MODES).join(", ")}.`);
  if (mode === "default") return say("Back to the configured permission mode.", { type: "permission" });
  if (mode !== "") {
    const chosen = mode as ChatPermission;
    const text = `The next turns of this chat have the permission mode ${chosen}. ${MODES[chosen]}`;
    return say(text, { type: "permission", mode: chosen });
  }
  const { pagurus, sessionKey, agentId, cwd, columns } = context;
  const { permission: configured } = await pagurus.status({ sessionKey, agentId, cwd });
  const now =
    context.permission === undefined
      ? `${configured} (configured)`
      : `${context.permission} (chosen here; configured: ${configured})`;
  const rows = Object.entries(MODES).map(([name, what]) => ({ left: `/permission ${name}`, right: what }));
  return say([`Permission mode: ${now}`, ...twoColumns(rows, columns)].join("\n"));
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
    if (args === "diff") return say(diffText(await requestDiff(pagurus, { sessionKey, agentId })));
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

async function plan(_args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd } = context;
  const report = await pagurus.status({ sessionKey, agentId, cwd });
  if (!report.plan) return say("The agent has made no plan in this session.");
  return say([...planLines(report.plan), `(${time(report.plan.timestamp)})`].join("\n"));
}

/** Read-only commands. */
export const lookCommands: readonly SlashCommand[] = [
  { name: "status", usage: "", summary: "Runtime, engine, model, context, degradations.", run: status },
  { name: "plan", usage: "", summary: "The agent's newest plan.", run: plan },
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
    name: "permission",
    usage: "[mode]",
    summary: "Show or choose what tools may do: ask, deny, auto, read-only (default: the configured one).",
    run: permission,
  },
  {
    name: "output",
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
