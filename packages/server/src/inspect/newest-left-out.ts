/** What the newest request of a conversation left out. */
import type { LeftOutEntry } from "@pagurus/api/types";
import { InspectedSessions, type InspectedPlace } from "./inspected-sessions.ts";

/** Undefined for a conversation without a recorded request. Throws `session_not_found`, `store_read_failed`. */
export async function newestLeftOut(place: InspectedPlace): Promise<readonly LeftOutEntry[] | undefined> {
  const session = new InspectedSessions().open(place);
  for (const { id } of (await session.requests()).toReversed()) {
    // A request that is not a turn's own shows no conversation.
    const entries = await session.leftOut(id);
    if (entries) return entries;
  }
  return undefined;
}
