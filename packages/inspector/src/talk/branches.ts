/** The branches of a conversation, by the message at which each is shown, and the marks where another program took over. */
import type { Branching, BranchTurn, RuntimeSwitch } from "@pagurus/api/types";
import type { MarkItem, TalkItem } from "./talk-items.ts";

/** The versions of one place, of which one is the conversation now. */
export interface Versions {
  /** In the order of writing. */
  turns: readonly BranchTurn[];
  /** Index of the one that is shown; -1 if all were left. */
  shown: number;
}

export interface Branches {
  /** By the entry of the message that is shown. */
  at: ReadonlyMap<string, Versions>;
  /** The messages that followed the end, before the conversation was moved back to it. */
  after: Versions | undefined;
  /** By the entry of the message. */
  switches: ReadonlyMap<string, RuntimeSwitch>;
}

export const NO_BRANCHES: Branches = { at: new Map(), after: undefined, switches: new Map() };

export function branchesFrom(answer: { branches: Branching[]; switches: RuntimeSwitch[] }): Branches {
  const at = new Map<string, Versions>();
  let after: Versions | undefined;
  for (const { turns } of answer.branches) {
    const shown = turns.findIndex(({ onPath }) => onPath);
    const entry = turns[shown]?.inputEntryId;
    if (entry === undefined) after = { turns, shown };
    else at.set(entry, { turns, shown });
  }
  return { at, after, switches: new Map(answer.switches.map((each) => [each.inputEntryId, each])) };
}

const PROGRAMS: Readonly<Record<string, string>> = {
  embedded: "Pagurus",
  codex: "Codex",
  claude: "Claude Code",
  acp: "An ACP agent",
};

function nameOf(runtime: string): string {
  return PROGRAMS[runtime] ?? runtime;
}

/** The rows with a mark before each message from which another program answers. */
export function withSwitches(items: readonly TalkItem[], { switches }: Branches): readonly TalkItem[] {
  if (switches.size === 0) return items;
  return items.flatMap((item): TalkItem[] => {
    const found = item.kind === "user" && item.entryId !== undefined ? switches.get(item.entryId) : undefined;
    if (!found) return [item];
    const mark: MarkItem = {
      kind: "mark",
      key: `${item.key}/program`,
      tone: "quiet",
      text: `From here on ${nameOf(found.to)} works, after ${nameOf(found.from)}.`,
    };
    return [mark, item];
  });
}
