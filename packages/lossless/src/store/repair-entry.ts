/** Repairs damaged parts of an entry from the transcript. */
import type { TranscriptCursor } from "@pagurus/contract/session/transcript";
import type { PayloadPart, TextPart } from "./entries/cutting.ts";
import { StoreDamage, type DamagedPart } from "./damage.ts";
import type { Database } from "@pagurus/core/data/sqlite";
import { prepareEntry } from "./entries/prepare-entry.ts";
import { references, type Reference } from "./entries/template.ts";
import { entryAt, placesOf } from "./entries/entry-tree.ts";

/** Limit on the entries that are tried: any entry with the part has the same bytes. */
const MOST_ENTRIES = 16;

/** Repairs a part; false when no entry of this transcript has it. Throws the errors of the cursor and SQLite, `StoreDamage`. */
export async function repairPart(
  db: Database,
  part: DamagedPart,
  transcript: TranscriptCursor,
): Promise<boolean> {
  for (const place of placesWith(db, part)) {
    const row = entryAt(db, place);
    const entry = row && (await transcript.get(row.id));
    const prepared = entry && prepareEntry(entry);
    if (!row || !prepared || "rewindTo" in prepared) continue;
    const at = references(row.body).findIndex((reference) => isDamagedPart(reference, part));
    const { parts } = prepared.cutting;
    const bytes = parts.length === references(row.body).length ? parts[at] : undefined;
    if (!bytes) continue;
    db.transaction(() => putPart(db, part, bytes));
    return true;
  }
  return false;
}

/** Places of entries with the part; those of summaries are negative and skipped, since no transcript has their text. */
function placesWith(db: Database, { table, num }: DamagedPart): number[] {
  const sql =
    table === "texts"
      ? "SELECT DISTINCT place FROM uses WHERE text = ? AND place > 0 LIMIT ?"
      : "SELECT place FROM payload_uses WHERE payload = ? AND place > 0 LIMIT ?";
  return db.all<{ place: number }>(sql, num, MOST_ENTRIES).map(({ place }) => place);
}

function isDamagedPart({ form, num }: Reference, part: DamagedPart): boolean {
  const isText = form === "t" || form === "j";
  return num === part.num && isText === (part.table === "texts");
}

function putPart(db: Database, { table, num }: DamagedPart, part: TextPart | PayloadPart): void {
  if ("text" in part)
    db.run("INSERT OR REPLACE INTO texts (num, hash, body) VALUES (?, ?, ?)", num, part.hash, part.text);
  else if (table === "payloads")
    db.run(
      "INSERT OR REPLACE INTO payloads (num, hash, size, mime, data) VALUES (?, ?, ?, ?, ?)",
      num,
      part.hash,
      part.data.byteLength,
      part.mime,
      part.data,
    );
}

/** Throws `StoreDamage` when the table has an entry that the index of ids does not find. Reads the whole table. */
export function assertMissing(db: Database, entryId: string): void {
  const row = db.get("SELECT 1 FROM entries NOT INDEXED WHERE id = ? LIMIT 1", entryId);
  if (row !== undefined && placesOf(db, entryId).length === 0)
    throw new StoreDamage(`The index of ids does not find the entry ${entryId}.`);
}
