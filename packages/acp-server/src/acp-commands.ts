import type { AvailableCommand } from "@agentclientprotocol/sdk";
import { commandsOf, customReport, isCommand } from "@pagurus/host/command/host-command";
import type { CommandResult } from "@pagurus/host/command/command-types";
import type { Pagurus } from "@pagurus/contract/host/host";

/** Lists our slash commands, those of plugins that ours do not shadow, and the user's own. */
export async function availableCommands(where: {
  pagurus: Pagurus;
  agentId: string;
  cwd: string;
}): Promise<AvailableCommand[]> {
  const { pagurus } = where;
  const { commands: custom } = await customReport(where);
  const ours = commandsOf("editor");
  const own = new Set(ours.flatMap(({ name, aliases }) => [name, ...(aliases ?? [])]));
  const listed = [
    ...ours,
    ...pagurus.commands().filter(({ name }) => !own.has(name)),
    ...custom
      .filter(({ state }) => state === "offered")
      .map(({ name, argumentHint, description }) => ({ name, usage: argumentHint, summary: description })),
  ];
  return listed.map(({ name, usage, summary }) => ({
    name,
    description: summary,
    ...(usage === "" ? {} : { input: { hint: usage } }),
  }));
}

/** Returns the command line of a prompt that is one line of text and starts like a command. */
export function commandLine(prompt: string, parts: number): string | undefined {
  return parts === 0 && isCommand(prompt) ? prompt : undefined;
}

/** Text for the user. A session that the terminal chat would switch to has to be opened in the editor. */
export function commandText({ text, effects }: CommandResult): string {
  const other = effects.find((effect) => effect.type === "session");
  if (!other) return text;
  return `The session ${other.sessionKey} exists; open it from the editor's list of sessions.`;
}
