import type { AvailableCommand } from "@agentclientprotocol/sdk";
import { customReport, isCommand, SLASH_COMMANDS } from "../../command/run-command.ts";
import type { CommandResult } from "../../command/types.ts";
import type { Pagurus } from "../../contract/host.ts";

/** Leaving is the editor's own affair. */
const LEFT_OUT = new Set(["exit"]);

/** Our slash commands, those of plugins that ours do not hide, and the user's own. */
export async function availableCommands(where: {
  pagurus: Pagurus;
  agentId: string;
  cwd: string;
}): Promise<AvailableCommand[]> {
  const { pagurus } = where;
  const { commands: custom } = await customReport(where);
  const own = new Set(SLASH_COMMANDS.flatMap(({ name, aliases }) => [name, ...(aliases ?? [])]));
  const listed = [
    ...SLASH_COMMANDS,
    ...pagurus.commands().filter(({ name }) => !own.has(name)),
    ...custom
      .filter(({ state }) => state === "offered")
      .map(({ name, argumentHint, description }) => ({ name, usage: argumentHint, summary: description })),
  ];
  return listed
    .filter(({ name }) => !LEFT_OUT.has(name))
    .map(({ name, usage, summary }) => ({
      name,
      description: summary,
      ...(usage === "" ? {} : { input: { hint: usage } }),
    }));
}

/** A prompt that is one line of text and begins as a command does. */
export function commandLine(prompt: string, parts: number): string | undefined {
  return parts === 0 && isCommand(prompt) ? prompt : undefined;
}

/** What the user reads: a session that a terminal's chat would change to is opened in the editor. */
export function commandText({ text, effects }: CommandResult): string {
  const other = effects.find((effect) => effect.type === "session");
  if (!other) return text;
  return `The session ${other.sessionKey} is there; open it from the editor's list of sessions.`;
}
