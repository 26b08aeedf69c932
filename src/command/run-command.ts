import { codexCommand } from "./codex-command.ts";
import { lookCommands } from "./look-commands.ts";
import { sessionCommands } from "./session-commands.ts";
import { say, type CommandContext, type CommandResult, type SlashCommand } from "./types.ts";

const help: SlashCommand = {
  name: "help",
  aliases: ["?"],
  usage: "",
  summary: "List these commands.",
  run: (_, { pagurus }) => Promise.resolve(say(helpText(pagurus.commands()))),
};
const exit: SlashCommand = {
  name: "exit",
  aliases: ["quit"],
  usage: "",
  summary: "Leave; the conversation stays.",
  run: () => Promise.resolve(say("", { type: "exit" })),
};

/** Every slash command, in the order of `/help`. */
export const SLASH_COMMANDS: readonly SlashCommand[] = [
  ...sessionCommands,
  ...lookCommands,
  codexCommand,
  help,
  exit,
];

type Listed = Pick<SlashCommand, "name" | "usage" | "summary">;

/** Plugins' commands behind ours; one of the same name is never reached. */
function helpText(ofPlugins: readonly Listed[]): string {
  const commands: Listed[] = [...SLASH_COMMANDS, ...ofPlugins.filter(({ name }) => !find(name))];
  const rows = commands.map((command) => [`/${command.name} ${command.usage}`.trim(), command.summary]);
  const width = Math.max(...rows.map(([left]) => (left ?? "").length));
  return rows.map(([left, right]) => `${(left ?? "").padEnd(width)}  ${right ?? ""}`).join("\n");
}

/** Whether a line is meant as a command: a slash and a letter. `//text` and paths like `/etc/x` are prompts. */
export function isCommand(line: string): boolean {
  return /^\/(\?|[a-z][a-z-]*)(\s|$)/i.test(line);
}

function find(name: string): SlashCommand | undefined {
  return SLASH_COMMANDS.find((command) => command.name === name || command.aliases?.includes(name));
}

/** Whether a line for which `isCommand` is true runs while a turn does. */
export function runsAtOnce(line: string): boolean {
  const { name, args } = parsed(line);
  return find(name)?.atOnce?.(args) === true;
}

function parsed(line: string): { name: string; args: string } {
  const match = /^\/(\S+)\s*([\s\S]*)$/.exec(line.trim());
  return { name: (match?.[1] ?? "").toLowerCase(), args: (match?.[2] ?? "").trim() };
}

/** Letters that must change to make one word of the other, at most; for the hint after a typing error. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Runs a line for which `isCommand` is true. Throws what the command throws; an unknown one answers a hint. */
export async function runCommand(line: string, context: CommandContext): Promise<CommandResult> {
  const { name, args } = parsed(line);
  const command = find(name);
  if (command) return command.run(args, context);
  const { pagurus, sessionKey, agentId, cwd, signal } = context;
  const ofPlugins = pagurus.commands().map((known) => known.name);
  if (ofPlugins.includes(name)) {
    const where = { sessionKey, agentId, cwd, ...(signal ? { signal } : {}) };
    return say(await pagurus.command({ name, args, ...where }));
  }
  const near = [...SLASH_COMMANDS.map((known) => known.name), ...ofPlugins]
    .filter((known) => known.startsWith(name) || distance(known, name) <= 2)
    .map((known) => `/${known}`);
  const hint = near.length > 0 ? `Did you mean ${near.join(" or ")}?` : "/help lists the commands.";
  return say(`There is no command /${name}. ${hint}`);
}
