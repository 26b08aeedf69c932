/** Removal of rows down to the bytes: also from free pages and from the log beside the file. */
import type { Database } from "./sqlite.ts";

/** Value of `PRAGMA application_id`, set with the removal, while removed words may still be in the file: "Erse". */
const ERASING = 0x45727365;
const ERASE_TRIES = 3;

/**
 * Runs `remove` in a transaction; if it removed rows (its result), the file is rewritten without them. A mark in the file survives a
 * crash: the next call continues, also when there is nothing left to remove. False while another connection reads the former pages.
 */
export function eraseRows(db: Database, remove: () => number): boolean {
  db.transaction(() => {
    if (remove() > 0) db.raw.exec(`PRAGMA application_id = ${ERASING}`);
  });
  return finishErasing(db);
}

/** Rewrites a file from which rows were removed. False while another connection reads the former pages. */
function finishErasing(db: Database): boolean {
  const mark = db.get<{ application_id: number }>("PRAGMA application_id")?.application_id;
  if (mark !== ERASING) return true;
  db.raw.exec("VACUUM");
  if (!isLogEmptied(db)) return false;
  db.raw.exec("PRAGMA application_id = 0");
  return true;
}

function isLogEmptied(db: Database): boolean {
  for (let tries = 0; tries < ERASE_TRIES; tries += 1)
    if (db.get<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)")?.busy === 0) return true;
  return false;
}

/** Whether a table exists; a part of a program that was never used has none. */
export function hasTable(db: Database, name: string): boolean {
  return db.get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name) !== undefined;
}
