/** What a model has in front of it when it asks: the turn that is under way. */
import { getFrontier } from "./nodes.ts";
import type { Home, Spot } from "./placing.ts";
import { kindOf } from "./rows.ts";
import { depthOf, entryAt, parentOf, resolve, sessionRow, type SessionRow } from "./tree.ts";

/** Entries behind the newest message that are looked through for the turn's end. */
const BEHIND = 32;

/** The turn of the newest message, while it is not committed. */
function liveTurn({ db }: Home, session: SessionRow): string | undefined {
  let place = session.leaf;
  for (let step = 0; place !== null && step < BEHIND; step++) {
    const row = entryAt(db, place);
    const kind = row && kindOf(row.kind).kind;
    if (!row || kind === "turn_commit") return undefined;
    if (kind === "message") return row.turn ?? undefined;
    place = parentOf(db, place);
  }
  return undefined;
}

/** Tells what of a session's live turn is shown to the model word for word. */
export function inSight(home: Home, sessionId: string): (spot: Spot) => boolean {
  const { db } = home;
  const session = sessionRow(db, sessionId);
  const turn = session && liveTurn(home, session);
  if (!session || turn === undefined) return () => false;
  const { firstKeptEntryId } = getFrontier(db, sessionId);
  const first = firstKeptEntryId === null ? undefined : resolve(db, session.num, firstKeptEntryId);
  const from = first === undefined ? 0 : depthOf(db, first);
  return (spot) =>
    spot.session.num === session.num &&
    spot.kind !== "node" &&
    spot.turn === turn &&
    depthOf(db, spot.place) >= from;
}
