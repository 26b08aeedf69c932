/** The branches of a conversation: where it was continued in several ways, and which of these is the conversation now. */
import type { Branching, BranchTurn } from "@pagurus/api/types";
import { defined } from "@pagurus/core/data/defined";
import type { OutlineEntry, SessionOutline } from "./session-outline.ts";

/** A turn as it is read, also without words of a person, for example a compaction. */
interface ReadTurn {
  turnId: string | undefined;
  input: OutlineEntry | undefined;
  parent: ReadTurn | undefined;
  /** The newest entry of the turn, or of what follows it. */
  newest: OutlineEntry;
}

/** The turns of an outline in the order of writing, and the turn of each entry. */
function turnsOf(entries: readonly OutlineEntry[]): {
  turns: readonly ReadTurn[];
  of: ReadonlyMap<string, ReadTurn>;
} {
  const turns: ReadTurn[] = [];
  const of = new Map<string, ReadTurn>();
  const byId = new Map<string, ReadTurn>();
  for (const entry of entries) {
    if (entry.type === "rewind") continue;
    const { id, parentId, turnId, supersedes } = entry;
    const parent = parentId === null ? undefined : of.get(parentId);
    const isInput = entry.role === "user";
    // A text that replaces an earlier one belongs to the same turn.
    let turn =
      turnId === undefined ? (supersedes === undefined ? undefined : of.get(supersedes)) : byId.get(turnId);
    if (!turn && (isInput || turnId !== undefined)) {
      turn = { turnId, input: undefined, parent, newest: entry };
      turns.push(turn);
      if (turnId !== undefined) byId.set(turnId, turn);
    }
    turn ??= parent;
    if (!turn) continue;
    if (isInput) turn.input ??= entry;
    turn.newest = entry;
    of.set(id, turn);
  }
  return { turns, of };
}

/** The last turn before this one that has words of a person. */
function before(turn: ReadTurn): ReadTurn | undefined {
  let parent = turn.parent;
  while (parent && !parent.input) parent = parent.parent;
  return parent;
}

/**
 * Each place of the conversation with several continuations, the first place first. The outline is up to date. A place before which all
 * continuations were left (by a rewind) is the last one, and none of its turns is on the path.
 */
export function branchesOf(outline: SessionOutline): Branching[] {
  const { entries } = outline;
  const { turns, of } = turnsOf(entries);
  const onPath = new Set<ReadTurn>();
  let end: ReadTurn | undefined;
  for (const { id } of outline.pathBefore(entries.length)) {
    const turn = of.get(id);
    if (!turn) continue;
    onPath.add(turn);
    if (turn.input) end ??= turn;
  }
  // Later turns first: what follows a turn is newer than the turn itself.
  for (const { parent, newest } of turns.toReversed())
    if (parent && outline.positionOf(parent.newest.id) < outline.positionOf(newest.id))
      parent.newest = newest;
  const followed = Map.groupBy(
    turns.filter(({ input }) => input !== undefined),
    before,
  );
  return [...followed]
    .filter(([parent, next]) => {
      const isShown = next.some((turn) => onPath.has(turn));
      return isShown ? next.length > 1 : parent === end;
    })
    .map(([, next]) => ({ turns: next.map((turn) => branchTurn(turn, onPath.has(turn))) }));
}

function branchTurn({ turnId, input, newest }: ReadTurn, onPath: boolean): BranchTurn {
  return {
    ...defined({ turnId }),
    inputEntryId: input?.id ?? "",
    title: input?.snippet ?? "",
    at: input?.at ?? newest.at,
    leafId: newest.id,
    onPath,
  };
}
