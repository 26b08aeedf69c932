import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import type { Row } from "../sessions/support.ts";

/** The columns of OpenClaw 2026.9.6 (its schema 23) that are read. */
const SCHEMA_23 = `
CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL, entry_json TEXT NOT NULL,
  updated_at INTEGER NOT NULL, label TEXT, display_name TEXT) STRICT;
CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, previous_session_id TEXT, reason TEXT,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, display_name TEXT) STRICT;
CREATE TABLE session_transcript_cold_archives (session_id TEXT NOT NULL PRIMARY KEY, archive_name TEXT NOT NULL, archived_at INTEGER NOT NULL,
  storage TEXT NOT NULL, archive_blob BLOB) STRICT;
CREATE TABLE session_transcript_archives (session_id TEXT NOT NULL, session_key TEXT NOT NULL, generation TEXT NOT NULL, reason TEXT NOT NULL,
  encoding TEXT NOT NULL, archive_name TEXT NOT NULL, archive_blob BLOB NOT NULL, created_at INTEGER NOT NULL) STRICT;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL,
  event_zstd BLOB, event_utf8_bytes INTEGER, PRIMARY KEY (session_id, seq)) STRICT;`;

/** Those of its first versions with a database. */
const SCHEMA_1 = `
CREATE TABLE sessions (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE session_entries (session_key TEXT NOT NULL PRIMARY KEY, session_id TEXT NOT NULL, entry_json TEXT NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL, created_at INTEGER NOT NULL,
  PRIMARY KEY (session_id, seq));`;

const START = Date.parse("2026-04-01T10:00:00Z");

/** Lines of a transcript, as OpenClaw writes them; each follows the one before. */
export class ClawLines {
  readonly rows: Row[] = [];
  #last: string | null = null;

  constructor(id: string) {
    this.rows.push({ type: "session", version: 3, id, timestamp: at(0), cwd: "/work" });
  }

  add(row: Row): this {
    const id = typeof row["id"] === "string" ? row["id"] : `e${this.rows.length}`;
    this.rows.push({ parentId: this.#last, timestamp: at(this.rows.length), ...row, id });
    if (row["type"] !== "leaf") this.#last = id;
    return this;
  }

  user(text: string, row: Row = {}): this {
    return this.add({ type: "message", message: { role: "user", content: text }, ...row });
  }

  answer(text: string, row: Row = {}): this {
    const message = { role: "assistant", content: [{ type: "text", text }], provider: "openai", model: "m" };
    return this.add({ type: "message", message, ...row });
  }

  call(id: string): this {
    const content = [{ type: "toolCall", id, name: "exec", arguments: { command: "ls" } }];
    return this.add({ type: "message", message: { role: "assistant", content } });
  }

  result(toolCallId: string, text: string): this {
    const content = [{ type: "text", text }];
    return this.add({
      type: "message",
      message: { role: "toolResult", toolCallId, toolName: "exec", content },
    });
  }
}

function at(step: number): string {
  return new Date(START + step * 1000).toISOString();
}

/** A home of OpenClaw with a test's content. */
export class ClawHome {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  write(path: string, text: string | Buffer): string {
    const file = join(this.folder, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  /** The database of an agent; the caller closes it. */
  database(agentId: string, version: 1 | 23 = 23): ClawDatabase {
    const folder = join(this.folder, "agents", agentId, "agent");
    mkdirSync(folder, { recursive: true });
    return new ClawDatabase(join(folder, "openclaw-agent.sqlite"), version);
  }

  /** A transcript in a file, under a key of `sessions.json`. */
  file(agentId: string, name: string, rows: readonly (Row | string)[]): string {
    const lines = rows.map((row) => `${typeof row === "string" ? row : JSON.stringify(row)}\n`);
    return this.write(`agents/${agentId}/sessions/${name}`, lines.join(""));
  }

  index(agentId: string, entries: Row): void {
    this.write(`agents/${agentId}/sessions/sessions.json`, JSON.stringify(entries));
  }

  /** Of every file, except those that SQLite shares between readers. */
  hash(): Record<string, string> {
    return hashTree(this.folder);
  }
}

/** Content and modification time of every file below a folder. */
export function hashTree(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile() || entry.name.endsWith("-shm")) continue;
    const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
    found[relative(folder, file)] = `${sum} ${statSync(file).mtimeMs}`;
  }
  return found;
}

export class ClawDatabase {
  readonly file: string;
  readonly #db: DatabaseSync;
  readonly #version: 1 | 23;

  constructor(file: string, version: 1 | 23) {
    this.file = file;
    this.#version = version;
    this.#db = new DatabaseSync(file);
    this.#db.exec("PRAGMA journal_mode = WAL");
    this.#db.exec(version === 23 ? SCHEMA_23 : SCHEMA_1);
  }

  /** `current: false` for an earlier generation; `packed`: sequence numbers that are compressed. */
  session(
    sessionId: string,
    key: string,
    lines: readonly (Row | string)[],
    how: { current?: boolean; label?: string; packed?: number[] } = {},
  ): void {
    const modern = this.#version === 23;
    const table = modern ? "session_windows" : "sessions";
    this.run(
      `INSERT INTO ${table} (session_id, session_key, created_at, updated_at) VALUES (?, ?, ?, ?)`,
      sessionId,
      key,
      START,
      START,
    );
    const entry = JSON.stringify({ sessionId, updatedAt: START, ...(how.label ? { label: how.label } : {}) });
    if (how.current !== false)
      this.run(
        modern
          ? "INSERT INTO session_nodes (session_key, current_session_id, entry_json, updated_at) VALUES (?, ?, ?, ?)"
          : "INSERT INTO session_entries (session_key, session_id, entry_json, updated_at) VALUES (?, ?, ?, ?)",
        key,
        sessionId,
        entry,
        START,
      );
    // Not in the order of their numbers: a reader has to sort.
    for (const [seq, line] of [...lines.entries()].toReversed()) {
      const text = typeof line === "string" ? line : JSON.stringify(line);
      if (how.packed?.includes(seq) === true)
        this.run(
          "INSERT INTO transcript_events (session_id, seq, created_at, event_zstd, event_utf8_bytes) VALUES (?, ?, ?, ?, ?)",
          sessionId,
          seq,
          START + seq,
          zstdCompressSync(Buffer.from(text)),
          Buffer.byteLength(text),
        );
      else
        this.run(
          "INSERT INTO transcript_events (session_id, seq, created_at, event_json) VALUES (?, ?, ?, ?)",
          sessionId,
          seq,
          START + seq,
          text,
        );
    }
  }

  /** A conversation that was moved out of the events; without `file` into the database. Returns its content. */
  archived(sessionId: string, key: string, lines: readonly Row[], file?: string): Buffer {
    this.session(sessionId, key, []);
    const packed = zstdCompressSync(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join("")));
    this.run(
      `INSERT INTO session_transcript_cold_archives VALUES (?, ?, ?, ?, ${file === undefined ? "?" : "NULL"})`,
      sessionId,
      file ?? `${sessionId}.jsonl.zst`,
      START,
      ...(file === undefined ? ["sqlite", packed] : ["file"]),
    );
    return packed;
  }

  /** A conversation that a reset or a deletion archived. */
  putAway(sessionId: string, key: string, reason: "reset" | "deleted", lines: readonly Row[]): void {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    this.run(
      "INSERT INTO session_transcript_archives VALUES (?, ?, 'g1', ?, 'zstd', ?, ?, ?)",
      sessionId,
      key,
      reason,
      `${sessionId}.jsonl.${reason}.zst`,
      zstdCompressSync(Buffer.from(text)),
      START,
    );
  }

  run(sql: string, ...values: (string | number | Uint8Array)[]): void {
    this.#db.prepare(sql).run(...values);
  }

  close(): void {
    this.#db.close();
  }
}
