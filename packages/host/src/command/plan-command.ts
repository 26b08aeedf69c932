/** `/plan`: the agent's newest plan, and turns that may only read until the person accepts one. */
import { say, type CommandContext, type CommandResult, type SlashCommand } from "./command-types.ts";
import { time } from "./layout.ts";
import { planLines } from "./plan-text.ts";

const ON =
  "Plan mode: the next turns may only read, and answer with a plan. /plan accept carries it out, /plan off leaves.";

async function newest({ pagurus, sessionKey, agentId, cwd, isPlanning }: CommandContext): Promise<string> {
  const { plan } = await pagurus.status({ sessionKey, agentId, cwd });
  const lines = plan ? [...planLines(plan), `(${time(plan.timestamp)})`] : [];
  const none = plan ? [] : ["The agent has made no plan in this session."];
  const how = isPlanning === false ? ["/plan on has it plan with read-only tools until you accept."] : [];
  return [...lines, ...none, ...how, ...(isPlanning === true ? [ON] : [])].join("\n");
}

async function plan(args: string, context: CommandContext): Promise<CommandResult> {
  if (args === "") return say(await newest(context));
  if (context.isPlanning === undefined) return say("Plan mode is a part of the chat in the terminal.");
  const off = { type: "plan" as const, isOn: false };
  if (args === "off") return say("Plan mode is off.", off);
  if (args === "accept") return say("", off, { type: "accepted" });
  const on = { type: "plan" as const, isOn: true };
  return args === "on" ? say(ON, on) : say("", on, { type: "prompt", prompt: args });
}

export const planCommand: SlashCommand = {
  name: "plan",
  usage: "[on | off | accept | request]",
  summary: "The agent's newest plan; plan with read-only tools until you accept.",
  run: plan,
};
