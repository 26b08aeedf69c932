/** Deletes files from an archive: its packs are written again without them. */
import { createHash } from "node:crypto";
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseJson, recordOf } from "@pagurus/core/data/record-fields";
import { Archive } from "./archive.ts";
import { finishForgetting, NEW_PACKS, OLD_PACKS } from "./finish-forgetting.ts";
import { readNote, type Note } from "./notes.ts";
import { PackFiles } from "./pack-files.ts";
import { BLOCK, blockRecord, contentOf, HASH_BYTES, noteRecord } from "./records.ts";

/** Bytes at the beginning of a file by which it is known at another path. */
export const MARKED_BYTES = 1024;
/** A shorter beginning may be that of another file. */
const LEAST_HEAD = 512;

/** What is left of a file's path in the archive. */
export function pathMark(path: string): string {
  return createHash("sha256").update(path).digest("hex");
}

/** What is left of the first bytes of a file of lines, which name a conversation or a time; undefined for another one, and where these are too few. */
export function headMark(path: string, bytes: Uint8Array): string | undefined {
  if (!path.endsWith(".jsonl") || bytes.length < LEAST_HEAD) return undefined;
  return createHash("sha256").update("head").update(bytes.subarray(0, MARKED_BYTES)).digest("hex");
}

/**
 * Deletes files with all their versions, blocks and events. Hashes of their paths and beginnings remain, so that they are not kept again.
 * The caller holds the lock, and no other archive of the folder is open for writing. Throws `store_write_failed`, `store_read_failed`.
 */
export function forgetFiles(folder: string, files: ReadonlySet<number>, at: number): void {
  const old = Archive.open(folder);
  const stats = old.files().filter(({ id }) => !files.has(id));
  try {
    rmSync(join(folder, NEW_PACKS), { recursive: true, force: true });
    const packs = new PackFiles(join(folder, NEW_PACKS), { writable: true });
    copyRecords(old, packs, files);
    for (const id of files) for (const note of marksOf(old, id, at)) packs.append(noteRecord(note));
    packs.sync();
    packs.close();
  } finally {
    old.close();
  }
  replacePacks(folder);
  const archive = Archive.open(folder);
  // Else each source is compared in full.
  for (const { id, stat, inode } of stats) archive.setStat(id, stat, inode);
  archive.commit();
  archive.close();
}

function marksOf(archive: Archive, id: number, at: number): Note[] {
  const file = archive.file(id);
  const beginnings = archive
    .versions(id)
    .map(({ version }) => headMark(file.path, archive.bytes(id, version, 0, MARKED_BYTES)));
  return [pathMark(file.path), ...new Set(beginnings)]
    .filter((mark) => mark !== undefined)
    .map((path) => ({ type: "event", kind: "forgotten", file: id, path, bytes: 0, at }));
}

/** Blocks come right before the first note that needs them. */
function copyRecords(old: Archive, packs: PackFiles, files: ReadonlySet<number>): void {
  const copied = new Set<string>();
  for (const { head, payload } of old.records()) {
    if (head.kind === BLOCK) continue;
    const value = recordOf(parseJson(contentOf(head, payload, (hash) => old.block(hash)).toString("utf8")));
    const note = readNote(value);
    // A mark of an earlier deletion has the number of a file that may be another one now.
    if (note && files.has(note.file) && !(note.type === "event" && note.kind === "forgotten")) continue;
    if (note?.type === "grow") {
      const hashes = Buffer.from(note.blocks, "base64");
      for (let from = 0; from < hashes.length; from += HASH_BYTES) {
        const hash = hashes.subarray(from, from + HASH_BYTES);
        const key = hash.toString("base64");
        if (copied.has(key)) continue;
        copied.add(key);
        packs.append(blockRecord(hash, old.block(hash)));
      }
    }
    packs.append(noteRecord(value));
  }
}

/** After this the old packs are no longer there, also when the process ends in the middle. */
function replacePacks(folder: string): void {
  // Copies of databases that a process left when it was killed.
  for (const name of readdirSync(join(folder, "copies")))
    rmSync(join(folder, "copies", name), { recursive: true, force: true });
  for (const name of ["index.db", "words.db"])
    for (const end of ["", "-wal", "-shm"]) rmSync(join(folder, name + end), { force: true });
  renameSync(join(folder, "packs"), join(folder, OLD_PACKS));
  finishForgetting(folder);
}
