import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import type { Row } from "./support.ts";

/** The tables of lossless-claw that an import reads, with their columns of version 0.15. */
const SCHEMA = `
CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, session_key TEXT,
  active INTEGER NOT NULL DEFAULT 1, archived_at TEXT, title TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')));
CREATE TABLE messages (message_id INTEGER PRIMARY KEY AUTOINCREMENT, conversation_id INTEGER NOT NULL, seq INTEGER NOT NULL,
  role TEXT NOT NULL, content TEXT NOT NULL, token_count INTEGER NOT NULL DEFAULT 1, created_at TEXT NOT NULL);
CREATE TABLE message_parts (part_id TEXT PRIMARY KEY, message_id INTEGER NOT NULL, session_id TEXT NOT NULL,
  part_type TEXT NOT NULL, ordinal INTEGER NOT NULL, text_content TEXT, tool_call_id TEXT, tool_name TEXT,
  tool_input TEXT, tool_output TEXT, metadata TEXT);
CREATE TABLE summaries (summary_id TEXT PRIMARY KEY, conversation_id INTEGER NOT NULL, kind TEXT NOT NULL,
  depth INTEGER NOT NULL, content TEXT NOT NULL, token_count INTEGER NOT NULL, earliest_at TEXT, latest_at TEXT,
  source_message_token_count INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL, model TEXT);
CREATE TABLE summary_messages (summary_id TEXT, message_id INTEGER, ordinal INTEGER);
CREATE TABLE summary_parents (summary_id TEXT, parent_summary_id TEXT, ordinal INTEGER);
CREATE TABLE context_items (conversation_id INTEGER, ordinal INTEGER, item_type TEXT, message_id INTEGER, summary_id TEXT);
CREATE TABLE large_files (file_id TEXT PRIMARY KEY, conversation_id INTEGER, file_name TEXT, mime_type TEXT,
  byte_size INTEGER, storage_uri TEXT NOT NULL, exploration_summary TEXT, created_at TEXT);
`;

export const CREATED = "2026-04-01 10:00:00";

/** Fills a database as the engine does. */
export class LcmFixture {
  readonly file: string;
  readonly #db: DatabaseSync;
  #parts = 0;

  constructor(folder: string, tables = SCHEMA) {
    this.file = join(folder, "lcm.db");
    this.#db = new DatabaseSync(this.file);
    this.#db.exec("PRAGMA journal_mode = WAL");
    this.#db.exec(tables);
  }

  insert(table: string, row: Row): number {
    const names = Object.keys(row);
    const values = Object.values(row) as (string | number | null)[];
    const marks = names.map(() => "?").join(", ");
    const sql = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks})`;
    return Number(this.#db.prepare(sql).run(...values).lastInsertRowid);
  }

  conversation(row: Row): number {
    return this.insert("conversations", { created_at: CREATED, ...row });
  }

  /** `parts` are rows of `message_parts`, `metadata` as an object. */
  message(conversation: number, seq: number, role: string, content: string, parts: Row[] = []): number {
    const created_at = `2026-04-01 10:${String(seq).padStart(2, "0")}:00`;
    const id = this.insert("messages", { conversation_id: conversation, seq, role, content, created_at });
    parts.forEach(({ metadata, ...part }, ordinal) => {
      this.#parts += 1;
      this.insert("message_parts", {
        part_id: `p${this.#parts}`,
        message_id: id,
        session_id: "s",
        ordinal,
        ...part,
        metadata: metadata === undefined ? null : JSON.stringify(metadata),
      });
    });
    return id;
  }

  /** `below`: message ids of a leaf, summary ids of a condensed one. */
  summary(conversation: number, id: string, content: string, below: (number | string)[]): void {
    const leaf = typeof below[0] === "number";
    const [kind, depth] = leaf ? ["leaf", 0] : ["condensed", 1];
    const fields = {
      token_count: 5,
      source_message_token_count: 50,
      created_at: "2026-04-01 11:00:00",
      model: "test-model",
    };
    this.insert("summaries", {
      summary_id: id,
      conversation_id: conversation,
      kind,
      depth,
      content,
      ...fields,
    });
    below.forEach((source, ordinal) => {
      if (leaf) this.insert("summary_messages", { summary_id: id, message_id: source, ordinal });
      else this.insert("summary_parents", { summary_id: id, parent_summary_id: source, ordinal });
    });
  }

  /** The engine's current context: message ids and summary ids, in order. */
  frontier(conversation: number, items: (number | string)[]): void {
    items.forEach((item, ordinal) => {
      const message = typeof item === "number";
      this.insert("context_items", {
        conversation_id: conversation,
        ordinal,
        item_type: message ? "message" : "summary",
        message_id: message ? item : null,
        summary_id: message ? null : item,
      });
    });
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  close(): void {
    this.#db.close();
  }
}
