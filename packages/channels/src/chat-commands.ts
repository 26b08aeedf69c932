/** Commands that a person writes in a channel: those of the list that are offered there, and those of plugins. */
import { commandsOf } from "@pagurus/host/command/host-command";
import type { Pagurus } from "@pagurus/contract/host/host";
import { toPagurusError } from "@pagurus/contract/errors";
import type { Dispatcher } from "@pagurus/inbox/dispatcher";
import type { Inbox } from "@pagurus/inbox/inbox";
import type { NewWork, Work, WorkPlace } from "@pagurus/inbox/work";

/** Lines of `/help`. */
const HELP = commandsOf("channel").map(
  ({ name, usage, summary }) => `${`/${name} ${usage}`.trim()}: ${summary}`,
);

/** Work to post, or the text that answers at once. */
export type CommandAnswer = { work: Pick<NewWork, "kind" | "request"> } | { text: string };

export interface CommandParts {
  pagurus: Pick<Pagurus, "renew" | "commands">;
  dispatcher: Pick<Dispatcher, "stopAnywhere">;
  inbox: Pick<Inbox, "open">;
  /** What the channel promises, as its state says; undefined before the first connection. */
  promise?(): string | undefined;
}

/** The name and the rest of a line that begins with a slash. */
export function commandIn(text: string): { name: string; rest: string } | undefined {
  const [, name, rest = ""] = /^\/([a-z][\w-]*)(?:\s+([^]*))?$/i.exec(text.trim()) ?? [];
  return name === undefined ? undefined : { name: name.toLowerCase(), rest: rest.trim() };
}

/** Never throws: what fails is the answer. */
export async function runCommand(
  { pagurus, dispatcher, inbox, promise }: CommandParts,
  place: WorkPlace & { cwd: string },
  { name, rest }: { name: string; rest: string },
): Promise<CommandAnswer> {
  const { cwd, ...where } = place;
  switch (name) {
    case "new":
    case "reset":
      try {
        await pagurus.renew({ ...where, cwd, reason: name });
        return { text: "A new conversation has begun; the old one is kept." };
      } catch (error) {
        return { text: toPagurusError(error).message };
      }
    case "stop":
      return { text: (await dispatcher.stopAnywhere(where)) ? "The turn ends." : "No turn runs." };
    case "status":
      return { text: statusText(await inbox.open(where), promise?.()) };
    case "compact":
      return { work: { kind: "compaction", request: { cwd, ...(rest === "" ? {} : { focus: rest }) } } };
    default: {
      const own = pagurus.commands();
      if (own.some((command) => command.name === name))
        return {
          work: { kind: "command", request: { name, cwd, ...(rest === "" ? {} : { args: rest }) } },
        };
      const others = own.map((command) => `/${command.name}`);
      const unknown = name === "help" ? [] : [`There is no command /${name}.`];
      return { text: [...unknown, ...HELP, ...others].join("\n") };
    }
  }
}

function statusText(open: readonly Work[], promise: string | undefined): string {
  const waiting = open.filter(({ state }) => state === "waiting").length;
  const runs = open.some(({ state }) => state === "running") ? "A turn runs" : "No turn runs";
  const what = `${runs}; ${waiting === 1 ? "1 message waits" : `${waiting} messages wait`}.`;
  return promise === undefined ? what : `${what}\nThis channel is ${promise}.`;
}
