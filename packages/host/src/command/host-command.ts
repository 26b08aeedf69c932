import { defined } from "@pagurus/core/data/defined";
import { editDistance } from "@pagurus/core/data/edit-distance";
import type { CustomCommandReport, ExpandedCommand } from "@pagurus/contract/host/skill";
import { changeCommands } from "./change-commands.ts";
import { codexCommand } from "./codex-command.ts";
import { twoColumns } from "./layout.ts";
import { lookCommands } from "./look-commands.ts";
import { sessionCommands } from "./session-commands.ts";
import { preparedRequests, talkCommands } from "./talk-commands.ts";
import {
  EVERY_DOOR,
  say,
  type CommandContext,
  type CommandDoor,
  type CommandResult,
  type SlashCommand,
} from "./command-types.ts";

const help: SlashCommand = {
  name: "help",
  doors: EVERY_DOOR,
  aliases: ["?"],
  usage: "",
  summary: "List these commands.",
  run: async (_, context) => say(helpText(await commandRows(context), context.columns)),
};
const exit: SlashCommand = {
  name: "exit",
  doors: ["terminal"],
  aliases: ["quit"],
  usage: "",
  summary: "Leave; the conversation is kept.",
  run: () => Promise.resolve(say("", { type: "exit" })),
};

/** Every slash command of every door, in the order of `/help`. */
const SLASH_COMMANDS: readonly SlashCommand[] = [
  ...sessionCommands,
  ...lookCommands,
  ...talkCommands,
  ...changeCommands,
  codexCommand,
  help,
  exit,
];

/** Slash commands that a door offers, in the order of `/help`. */
export function commandsOf(door: CommandDoor): readonly SlashCommand[] {
  return SLASH_COMMANDS.filter(({ doors = ["terminal", "editor"] }) => doors.includes(door));
}

type Listed = Pick<SlashCommand, "name" | "usage" | "summary">;

function helpText(commands: readonly Listed[], columns = Infinity): string {
  const rows = commands.map(({ name, usage, summary }) => ({
    left: `/${name} ${usage}`.trim(),
    right: summary,
  }));
  return twoColumns(rows, columns).join("\n");
}

/** Whether a line is a command: a slash and a letter. `//text` and paths like `/etc/x` are prompts. */
export function isCommand(line: string): boolean {
  return /^\/(\?|[a-z][a-z0-9_-]*(:[a-z0-9_-]+)*)(\s|$)/i.test(line);
}

type Where = Pick<CommandContext, "pagurus" | "agentId" | "cwd">;

/** Owner of a taken name, as the start of a sentence. */
function takenBy(name: string, { pagurus }: Where): string | undefined {
  if (find(name)) return "The host's own";
  return ofPlugin(name, pagurus.commands()) ? "A plugin's" : undefined;
}

/** Whether a plugin has a command of that name or alias. */
function ofPlugin(name: string, commands: readonly { name: string; aliases?: readonly string[] }[]): boolean {
  return commands.some((known) => known.name === name || known.aliases?.includes(name));
}

/** The user's command files, with those marked whose names are the host's or a plugin's. */
export async function customReport(where: Where): Promise<CustomCommandReport> {
  const { pagurus, agentId, cwd } = where;
  const { commands, problems } = await pagurus.customCommands.list({ agentId, cwd });
  return {
    problems,
    commands: commands.map((command) => {
      const taken = command.state === "offered" ? takenBy(command.name, where) : undefined;
      if (taken === undefined) return command;
      return { ...command, state: "shadowed", reason: `${taken} /${command.name} takes precedence.` };
    }),
  };
}

/**
 * Expands the user's command file that a line names; undefined for any other line, including host's and plugins' commands.
 */
export async function expandLine(line: string, where: Where): Promise<ExpandedCommand | undefined> {
  if (!isCommand(line)) return undefined;
  const { name, args } = parsed(line);
  const { pagurus, agentId, cwd } = where;
  if (takenBy(name, where) !== undefined) return undefined;
  return pagurus.customCommands.expand({ name, args, agentId, cwd });
}

/** All commands as `/help` lists them; of two with one name the first is listed, and runs. */
export async function commandRows(where: Where): Promise<Listed[]> {
  const { commands } = await customReport(where);
  const custom = commands.filter(({ state }) => state === "offered");
  const ofFiles = custom.map(({ name, argumentHint: usage, description: summary }) => ({
    name,
    usage,
    summary,
  }));
  const rows: Listed[] = [
    ...commandsOf("terminal"),
    ...where.pagurus.commands(),
    ...ofFiles,
    ...preparedRequests,
  ];
  return [...new Map(rows.toReversed().map((row) => [row.name, row])).values()].toReversed();
}

function find(name: string): SlashCommand | undefined {
  return commandsOf("terminal").find((command) => command.name === name || command.aliases?.includes(name));
}

/** Whether a command line (see `isCommand`) may run during a turn. */
export function runsAtOnce(line: string): boolean {
  const { name, args } = parsed(line);
  return find(name)?.atOnce?.(args) === true;
}

function parsed(line: string): { name: string; args: string } {
  const match = /^\/(\S+)\s*([\s\S]*)$/.exec(line.trim());
  return { name: (match?.[1] ?? "").toLowerCase(), args: (match?.[2] ?? "").trim() };
}

/** Runs a command line (see `isCommand`). Throws what the command throws; an unknown one returns a hint. */
export async function runCommand(line: string, context: CommandContext): Promise<CommandResult> {
  const { name, args } = parsed(line);
  const command = find(name);
  if (command) return command.run(args, context);
  const { pagurus, sessionKey, agentId, cwd, signal } = context;
  if (ofPlugin(name, pagurus.commands())) {
    const where = { sessionKey, agentId, cwd, ...defined({ signal }) };
    return say(await pagurus.command({ name, args, ...where }));
  }
  const expanded = await expandLine(line.trim(), context);
  if (expanded) return say("", { type: "prompt", ...expanded });
  const request = preparedRequests.find((each) => each.name === name);
  if (request) return request.run(args, context);
  const near = (await commandRows(context))
    .map((known) => `/${known.name}`)
    .filter((known) => known.startsWith(`/${name}`) || editDistance(known, `/${name}`) <= 2);
  const hint = near.length > 0 ? `Did you mean ${near.join(" or ")}?` : "/help lists the commands.";
  return say(`There is no command /${name}. ${hint}`);
}
