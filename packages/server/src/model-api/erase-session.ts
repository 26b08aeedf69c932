/** Erasure of deleted sessions from the database of the model API. */
import { hasTable } from "@pagurus/core/data/erase";
import type { Database } from "@pagurus/core/data/sqlite";

/**
 * Removes the stored responses of a session up to a time (ms since the epoch), the items of their conversations, and the digests by which
 * its prefixes are found; returns the number of rows.
 */
export function removeSessionRows(db: Database, sessionKey: string, until: number): number {
  let rows = 0;
  const run = (table: string, where: string, ...values: (string | number)[]): void => {
    if (hasTable(db, table)) rows += db.run(`DELETE FROM ${table} WHERE ${where}`, ...values);
  };
  if (hasTable(db, "responses")) {
    const seconds = Math.floor(until / 1000);
    const found = "FROM responses WHERE session = ? AND created <= ? AND conversation IS NOT NULL";
    run("conversation_items", `conversation IN (SELECT conversation ${found})`, sessionKey, seconds);
    run("conversations", `(token, id) IN (SELECT token, conversation ${found})`, sessionKey, seconds);
    run("responses", "session = ? AND created <= ?", sessionKey, seconds);
  }
  run("prefixes", "session = ? AND at <= ?", sessionKey, until);
  run("heads", "session = ? AND at <= ?", sessionKey, until);
  return rows;
}
