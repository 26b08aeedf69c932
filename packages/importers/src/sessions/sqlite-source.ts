/** Read-only access to databases of other programs. */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

/** Opens it so that nothing is written. Throws SQLite's errors. */
export function openForReading(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  // Without a log or journal next to it the file is complete, and SQLite need not create files to share it.
  const changes = ["-wal", "-journal"].some(
    (end) => (statSync(`${path}${end}`, { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
  if (!changes) url.searchParams.set("immutable", "1");
  const db = new DatabaseSync(url, { readOnly: true });
  try {
    db.exec("PRAGMA busy_timeout = 5000");
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}
