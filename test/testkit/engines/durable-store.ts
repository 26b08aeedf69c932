/** The durable test engine's database: turns as a tree, their messages, summaries, children. */
import type { DatabaseSync } from "node:sqlite";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { openSqlite } from "../../../packages/core/src/data/sqlite.ts";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS turns (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, key TEXT NOT NULL, parent INTEGER, UNIQUE (session, key));
  CREATE TABLE IF NOT EXISTS messages (
    turn INTEGER NOT NULL, position INTEGER NOT NULL, session TEXT NOT NULL, entry TEXT NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (turn, position));
  CREATE INDEX IF NOT EXISTS messages_by_entry ON messages (session, entry);
  CREATE TABLE IF NOT EXISTS summaries (first_kept INTEGER PRIMARY KEY, session TEXT NOT NULL, text TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS children (key TEXT PRIMARY KEY, session TEXT);
`;

export interface StoredTurn {
  id: number;
  key: string;
  messages: AgentMessage[];
  /** Summary that replaces all turns before this one. */
  summary?: string;
}

/** Every call throws SQLite's errors. */
export class DurableStore {
  readonly #db: DatabaseSync;
  #open = true;

  constructor(file: string) {
    this.#db = openSqlite(file).raw;
    this.#db.exec(SCHEMA);
  }

  close(): void {
    if (this.#open) this.#db.close();
    this.#open = false;
  }

  /** False when the session has a turn with this key already; then nothing changes. */
  addTurn(
    session: string,
    key: string,
    messages: readonly AgentMessage[],
    parent: number | undefined,
  ): boolean {
    return this.#atomic(() => {
      const insert = "INSERT INTO turns (session, key, parent) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
      const { changes, lastInsertRowid } = this.#db.prepare(insert).run(session, key, parent ?? null);
      if (changes === 0) return false;
      const add = this.#db.prepare(
        "INSERT INTO messages (turn, position, session, entry, json) VALUES (?, ?, ?, ?, ?)",
      );
      for (const [position, message] of messages.entries())
        add.run(lastInsertRowid, position, session, message.entryId ?? "", JSON.stringify(message));
      return true;
    });
  }

  /** The turn that holds a transcript entry. */
  turnOfEntry(session: string, entry: string): number | undefined {
    const row = this.#db
      .prepare("SELECT turn FROM messages WHERE session = ? AND entry = ?")
      .get(session, entry);
    return row === undefined ? undefined : Number(row["turn"]);
  }

  turnOfKey(session: string, key: string): number | undefined {
    const row = this.#db.prepare("SELECT id FROM turns WHERE session = ? AND key = ?").get(session, key);
    return row === undefined ? undefined : Number(row["id"]);
  }

  newestTurn(session: string): number | undefined {
    const row = this.#db.prepare("SELECT max(id) AS id FROM turns WHERE session = ?").get(session);
    return row?.["id"] == null ? undefined : Number(row["id"]);
  }

  /** Turns from a leaf to the root, newest first, no further than the newest summary reaches. */
  *chain(leaf: number | undefined): Generator<StoredTurn> {
    const find = this.#db.prepare(
      "SELECT key, parent, (SELECT text FROM summaries WHERE first_kept = turns.id) AS summary FROM turns WHERE id = ?",
    );
    const read = this.#db.prepare("SELECT json FROM messages WHERE turn = ? ORDER BY position");
    for (let id = leaf; id !== undefined;) {
      const row = find.get(id);
      if (!row) return;
      const messages = read.all(id).map(({ json }) => JSON.parse(String(json)) as AgentMessage);
      const summary = row["summary"] === null ? {} : { summary: String(row["summary"]) };
      yield { id, key: String(row["key"]), messages, ...summary };
      id = row["parent"] === null || "summary" in summary ? undefined : Number(row["parent"]);
    }
  }

  saveSummary(session: string, firstKept: number, text: string): void {
    const put = "INSERT OR REPLACE INTO summaries (first_kept, session, text) VALUES (?, ?, ?)";
    this.#db.prepare(put).run(firstKept, session, text);
  }

  addChild(key: string, session: string | undefined): void {
    this.#db
      .prepare("INSERT OR REPLACE INTO children (key, session) VALUES (?, ?)")
      .run(key, session ?? null);
  }

  /** Deletes a child; with `words` also its messages. A no-op for an unknown one. */
  removeChild(key: string, words: boolean): void {
    this.#atomic(() => {
      const row = this.#db.prepare("SELECT session FROM children WHERE key = ?").get(key);
      this.#db.prepare("DELETE FROM children WHERE key = ?").run(key);
      const session = row?.["session"];
      if (!words || typeof session !== "string") return;
      for (const table of ["messages", "summaries", "turns"])
        this.#db.prepare(`DELETE FROM ${table} WHERE session = ?`).run(session);
    });
  }

  #atomic<T>(work: () => T): T {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const value = work();
      this.#db.exec("COMMIT");
      return value;
    } catch (error) {
      this.#db.exec("ROLLBACK");
      throw error;
    }
  }
}
