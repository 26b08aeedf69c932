/** Databases of other programs. */
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";

/** Opened so that nothing is written into it. Throws what SQLite throws. */
export function openForReading(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  // Without a log or journal of changes beside it the file is all there is, and SQLite need not make files to share it.
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
