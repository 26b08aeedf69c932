/**
 * Payloads that lossless-claw keeps in files of its own. The message has a reference with the file's id instead; the text is imported as
 * data. Only files in the folder next to the database are read: a database of foreign origin must not be able to name any file of this
 * machine.
 */
import { isUtf8 } from "node:buffer";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { filledString } from "@pagurus/core/data/record-fields";
import type { Draft } from "../draft.ts";
import { timeOf } from "../foreign-fields.ts";
import type { LcmDatabase } from "./lcm-database.ts";
import type { Tally } from "../tally.ts";

/** `customType` of a payload from a file of its own. */
const IMPORTED_FILE = "pagurus.imported_file";
const FOLDER = "lcm-files";
const SIZE_LIMIT = 64 * 1024 * 1024;

export function keepLargeFiles(db: LcmDatabase, conversation: number, draft: Draft, tally: Tally): void {
  if (!db.has("large_files")) return;
  let missing = 0;
  for (const row of db.each(
    "SELECT * FROM large_files WHERE conversation_id = ? ORDER BY file_id",
    conversation,
  )) {
    const bytes = payload(db.path, filledString(row["storage_uri"]));
    if (!bytes) missing += 1;
    else tally.keep("large file");
    const content =
      bytes && (isUtf8(bytes) ? { text: bytes.toString("utf8") } : { base64: bytes.toString("base64") });
    draft.add({
      at: timeOf(row["created_at"]),
      body: {
        type: "custom",
        customType: IMPORTED_FILE,
        data: {
          fileId: row["file_id"],
          name: row["file_name"],
          mimeType: row["mime_type"],
          bytes: row["byte_size"],
          summary: row["exploration_summary"],
          ...content,
        },
      },
    });
  }
  if (missing > 0)
    tally.remarks.push(
      `${missing} large ${missing === 1 ? "file" : "files"} could not be read from ${join(dirname(db.path), FOLDER)}; only what the database says of them was taken.`,
    );
}

function payload(database: string, uri: string | undefined): Buffer | undefined {
  if (uri === undefined) return undefined;
  try {
    const named = uri.startsWith("file:") ? fileURLToPath(uri) : uri;
    const folder = realpathSync(join(dirname(database), FOLDER));
    // The database of a moved folder still has the old paths.
    const inside = named.includes(`${sep}${FOLDER}${sep}`)
      ? join(folder, named.slice(named.lastIndexOf(`${sep}${FOLDER}${sep}`) + FOLDER.length + 2))
      : join(folder, basename(named));
    const file = realpathSync(inside);
    if (!file.startsWith(folder + sep)) return undefined;
    const stats = statSync(file);
    return stats.isFile() && stats.size <= SIZE_LIMIT ? readFileSync(file) : undefined;
  } catch {
    // Reported with the number of missing files.
    return undefined;
  }
}
