/** Finds the live turn of a session, which the model sees verbatim when it searches. */
import { getFrontier } from "../node-rows.ts";
import type { Home } from "../search/placing.ts";
import { kindOf } from "./entry-rows.ts";
import { depthOf, entryAt, parentOf, resolve, sessionRow, type SessionRow } from "./entry-tree.ts";

/** Limit on the entries after the newest message that are searched for the turn's end. */
const MOST_TRAILING = 32;

/** The turn of the newest message, while it is not committed. */
function liveTurn({ db }: Home, session: SessionRow): string | undefined {
  let place = session.leaf;
  for (let step = 0; place !== null && step < MOST_TRAILING; step++) {
    const row = entryAt(db, place);
    const kind = row && kindOf(row.kind).kind;
    if (!row || kind === "turn_commit") return undefined;
    if (kind === "message") return row.turn ?? undefined;
    place = parentOf(db, place);
  }
  return undefined;
}

/** What is looked at: a message of a session, or a summary. */
export interface Seen {
  session: SessionRow;
  place: number;
  turn?: string;
  /** Row number of a summary. */
  node?: number;
}

/** Predicate for messages of a session's live turn that the model sees verbatim. */
export function inSight(home: Home, sessionId: string): (seen: Seen) => boolean {
  const { db } = home;
  const session = sessionRow(db, sessionId);
  const turn = session && liveTurn(home, session);
  if (!session || turn === undefined) return () => false;
  const { firstKeptEntryId } = getFrontier(db, sessionId, false);
  const first = firstKeptEntryId === null ? undefined : resolve(db, session.num, firstKeptEntryId);
  const from = first === undefined ? 0 : depthOf(db, first);
  return (seen) =>
    seen.session.num === session.num &&
    seen.node === undefined &&
    seen.turn === turn &&
    depthOf(db, seen.place) >= from;
}
