import { diffText, receiptPair } from "./receipt-diff.ts";
import { time } from "./layout.ts";
import { planLines } from "./plan-text.ts";
import { receiptsText } from "./receipt-table.ts";
import { costRows, statusText } from "./status-text.ts";
import { say, type CommandContext, type CommandResult, type SlashCommand } from "./types.ts";

async function status(_args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd, model } = context;
  const report = await pagurus.status({ sessionKey, agentId, cwd });
  const chosen = model === undefined ? "" : `\nModel of this chat: ${model} (chosen with /model)`;
  return say(statusText(report) + chosen);
}

async function model(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd } = context;
  if (args === "default") return say("Back to the configured model.", { type: "model" });
  if (args !== "") {
    if (!/^[^/\s]+\/\S+$/.test(args)) return say(`"${args}" is not a model ref; write provider/model.`);
    const { problem, warning } = (await context.checkModel?.(args)) ?? {};
    if (problem !== undefined) return say(`${problem} The model stays as it is.`);
    const but = warning === undefined ? "" : ` But: ${warning}`;
    return say(`The next turns of this chat use ${args}.${but}`, { type: "model", model: args });
  }
  const report = await pagurus.status({ sessionKey, agentId, cwd });
  const chosen = context.model === undefined ? "" : `${context.model}, chosen here; configured: `;
  return say(`${chosen}${report.model.ref} (${report.model.source}). Change it with /model provider/model.`);
}

async function contextCommand(args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId } = context;
  if (args === "diff") return say(diffText(await receiptPair(pagurus, { sessionKey, agentId })));
  if (args !== "" && args !== "show") return say("Say /context show or /context diff.");
  const receipts = await pagurus.context.receipts({ sessionKey, agentId });
  return say(receiptsText(receipts.slice(-1)));
}

async function cost(_args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd } = context;
  const rows = costRows(await pagurus.status({ sessionKey, agentId, cwd }));
  if (rows.length === 0) return say("The cost is not known, because the model's prices are not known.");
  return say(rows.map(([label, value]) => `${label}: ${value}`).join("\n"));
}

async function plan(_args: string, context: CommandContext): Promise<CommandResult> {
  const { pagurus, sessionKey, agentId, cwd } = context;
  const report = await pagurus.status({ sessionKey, agentId, cwd });
  if (!report.plan) return say("The agent has made no plan in this session.");
  return say([...planLines(report.plan), `(${time(report.plan.timestamp)})`].join("\n"));
}

/** Commands that only look. */
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
    name: "context",
    usage: "[show|diff]",
    summary: "What the last request to the model held, or how it changed.",
    run: contextCommand,
  },
];
