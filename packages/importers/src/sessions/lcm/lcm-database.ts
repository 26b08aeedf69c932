/**
 * lossless-claw's database, opened so that neither it nor a file next to it changes. Every version is read by its column names; one without
 * the tables of conversations and messages is refused.
 */
import type { DatabaseSync } from "node:sqlite";
import { PagurusError } from "@pagurus/contract/errors";
import { type Fields, filledString } from "@pagurus/core/data/record-fields";
import { numberOf } from "../foreign-fields.ts";
import { openForReading } from "../sqlite-source.ts";
import { defined } from "@pagurus/core/data/defined";

export interface LcmConversation {
  id: number;
  sessionId: string;
  sessionKey: string | undefined;
  active: boolean;
  title: string | undefined;
  createdAt: unknown;
}

export class LcmDatabase {
  readonly path: string;
  readonly #db: DatabaseSync;
  readonly #tables: ReadonlySet<string>;

  /** Throws `import_invalid` for a file that is no such database, and the system's error for one that cannot be read. */
  constructor(path: string) {
    this.path = path;
    this.#db = openCopy(path);
    try {
      const rows = this.#db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
      this.#tables = new Set(rows.map((row) => String(row["name"])));
    } catch (error) {
      this.#db.close();
      throw invalid(path, "it cannot be read as a database", error);
    }
    for (const table of ["conversations", "messages"]) {
      if (this.#tables.has(table)) continue;
      this.#db.close();
      throw invalid(path, `it is a database without the table ${table}`);
    }
    // One transaction: all reads see the same state.
    this.#db.exec("BEGIN");
  }

  /** Oldest first. */
  conversations(): LcmConversation[] {
    return this.rows("SELECT * FROM conversations ORDER BY conversation_id").map((row) => ({
      id: numberOf(row["conversation_id"]) ?? 0,
      sessionId: filledString(row["session_id"]) ?? "",
      sessionKey: filledString(row["session_key"]),
      active: row["active"] !== 0,
      title: filledString(row["title"]),
      createdAt: row["created_at"],
    }));
  }

  has(table: string): boolean {
    return this.#tables.has(table);
  }

  rows(sql: string, ...values: (string | number)[]): Fields[] {
    return this.#read(() => this.#db.prepare(sql).all(...values));
  }

  /** As `rows`, one by one. */
  *each(sql: string, ...values: (string | number)[]): Generator<Fields> {
    const rows = this.#read(() => this.#db.prepare(sql).iterate(...values));
    for (;;) {
      const step = this.#read(() => rows.next());
      if (step.done) return;
      yield step.value;
    }
  }

  #read<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw invalid(this.path, "a part of it cannot be read", error);
    }
  }

  close(): void {
    this.#db.close();
  }
}

function openCopy(path: string): DatabaseSync {
  try {
    return openForReading(path);
  } catch (error) {
    throw invalid(path, "it cannot be opened as a database", error);
  }
}

export function invalid(path: string, why: string, cause?: unknown): PagurusError {
  return new PagurusError(
    "import_invalid",
    `${path} cannot be imported as a database of lossless-claw: ${why}.`,
    { ...defined({ cause }), details: { file: path } },
  );
}
