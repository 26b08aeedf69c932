/** Notes of an archive: what happened to which file. The index is made of them, in their order. */
import { countOf, type Fields, filledString, listOf, stringOf } from "@pagurus/core/data/record-fields";
import type { Database } from "@pagurus/core/data/sqlite";
import { HASH_BYTES } from "./records.ts";

/** Change of a file by its program; `kept` bytes are in the archive and no longer at the source. */
export type LossKind = "removed" | "truncated" | "rewritten";
/** `forgotten`: the user deleted a file from the archive; its path is a hash. */
export type EventKind = LossKind | "renamed" | "returned" | "compressed" | "forgotten";

export type Note =
  | { type: "file"; file: number; agent: string; path: string; at: number }
  /** From here on the file's bytes from `shared` on are others. */
  | { type: "version"; file: number; version: number; shared: number; at: number }
  | {
      type: "grow";
      file: number;
      version: number;
      from: number;
      /** Hashes of 32 bytes, one after the other, in base64. */
      blocks: string;
      lengths: number[];
      at: number;
    }
  | { type: "event"; kind: EventKind; file: number; path: string; bytes: number; at: number };

/** The note of a record; undefined for a kind that a later version writes. */
export function readNote(value: Fields): Note | undefined {
  const number = (key: string): number => countOf(value[key]) ?? 0;
  const common = { file: number("file"), at: number("at") };
  const path = stringOf(value["path"]);
  switch (value["type"]) {
    case "file":
      return { type: "file", ...common, agent: stringOf(value["agent"]), path };
    case "version":
      return { type: "version", ...common, version: number("version"), shared: number("shared") };
    case "grow":
      return {
        type: "grow",
        ...common,
        version: number("version"),
        from: number("from"),
        blocks: stringOf(value["blocks"]),
        lengths: listOf(value["lengths"]).map((each) => countOf(each) ?? 0),
      };
    case "event":
      return {
        type: "event",
        ...common,
        kind: (filledString(value["kind"]) ?? "returned") as EventKind,
        path,
        bytes: number("bytes"),
      };
    default:
      return undefined;
  }
}

/** Brings a note into the index. Applying one twice changes nothing, except that an event would be there twice. */
export function applyNote(db: Database, note: Note): void {
  const { file, at } = note;
  switch (note.type) {
    case "file":
      db.run(
        "INSERT OR IGNORE INTO files (id, agent, path, state, version, size, first_at, last_at) VALUES (?, ?, ?, 'there', 1, 0, ?, ?)",
        file,
        note.agent,
        note.path,
        at,
        at,
      );
      addVersion(db, { file, version: 1, shared: 0, at });
      return;
    case "version":
      addVersion(db, note);
      db.run(
        "UPDATE files SET version = ?, size = ?, last_at = ? WHERE id = ?",
        note.version,
        note.shared,
        at,
        file,
      );
      return;
    case "grow":
      return grow(db, note);
    case "event":
      return applyEvent(db, note);
  }
}

function addVersion(
  db: Database,
  { file, version, shared, at }: { file: number; version: number; shared: number; at: number },
): void {
  db.run("INSERT OR IGNORE INTO versions VALUES (?, ?, ?, ?, ?)", file, version, at, shared, shared);
}

function grow(db: Database, note: Extract<Note, { type: "grow" }>): void {
  const { file, version, at } = note;
  const hashes = Buffer.from(note.blocks, "base64");
  let offset = note.from;
  for (const [index, length] of note.lengths.entries()) {
    const hash = hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);
    db.run("INSERT OR IGNORE INTO extents VALUES (?, ?, ?, ?, ?)", file, version, offset, length, hash);
    offset += length;
  }
  db.run("UPDATE versions SET size = max(size, ?) WHERE file = ? AND version = ?", offset, file, version);
  db.run(
    "UPDATE files SET size = max(size, ?), last_at = ? WHERE id = ? AND version = ?",
    offset,
    at,
    file,
    version,
  );
}

function applyEvent(db: Database, { kind, file, path, bytes, at }: Extract<Note, { type: "event" }>): void {
  if (kind === "renamed") db.run("UPDATE files SET path = ?, state = 'there' WHERE id = ?", path, file);
  if (kind === "removed" || kind === "compressed")
    db.run("UPDATE files SET state = 'gone', stat = '' WHERE id = ?", file);
  if (kind === "returned") db.run("UPDATE files SET state = 'there' WHERE id = ?", file);
  db.run(
    "INSERT INTO events (at, kind, file, agent, path, bytes) VALUES (?, ?, ?, coalesce((SELECT agent FROM files WHERE id = ?), ''), ?, ?)",
    at,
    kind,
    file,
    file,
    path,
    bytes,
  );
}
