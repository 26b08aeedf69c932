/** Erasure of what channels keep of deleted sessions. */
import { hasTable } from "@pagurus/core/data/erase";
import type { Database } from "@pagurus/core/data/sqlite";

/**
 * Removes the messages that were queued for the people of a piece of work, up to a time (ms since the epoch), with their files; returns
 * the number of rows.
 */
export function removeMessages(db: Database, workIds: readonly string[], until: number): number {
  if (!hasTable(db, "channel_outgoing")) return 0;
  let rows = 0;
  for (const id of workIds) {
    const place = db.get<{ channel: string; address: string }>(
      "SELECT channel, address FROM channel_work WHERE work = ?",
      id,
    );
    if (!place) continue;
    const queued = db.all<{ id: string }>(
      "SELECT id FROM channel_outgoing WHERE channel = ? AND address = ? AND created <= ?",
      place.channel,
      place.address,
      until,
    );
    for (const message of queued) {
      if (hasTable(db, "channel_files"))
        rows += db.run("DELETE FROM channel_files WHERE message = ?", message.id);
      rows += db.run("DELETE FROM channel_outgoing WHERE id = ?", message.id);
    }
    rows += db.run("DELETE FROM channel_work WHERE work = ?", id);
    if (hasTable(db, "channel_messages")) rows += db.run("DELETE FROM channel_messages WHERE work = ?", id);
  }
  return rows;
}
