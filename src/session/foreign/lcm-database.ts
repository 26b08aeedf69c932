/**
 * lossless-claw's database, opened so that not a byte of it or beside it changes. Every version is read by the names of
 * its columns; one that lacks the tables of conversations and messages is refused.
 */
import type { DatabaseSync } from "node:sqlite";
import { PagurusError } from "../../contract/errors.ts";
import { numberOf, textOf, type Fields } from "./fields.ts";
import { openForReading } from "./sqlite-source.ts";

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

  /** Throws `import_invalid` for a file that is no such database, what the system throws for one that cannot be read. */
  constructor(path: string) {
    this.path = path;
    this.#db = open(path);
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
    // One state of the database for all that is read.
    this.#db.exec("BEGIN");
  }

  /** Oldest first. */
  conversations(): LcmConversation[] {
    return this.rows("SELECT * FROM conversations ORDER BY conversation_id").map((row) => ({
      id: numberOf(row["conversation_id"]) ?? 0,
      sessionId: textOf(row["session_id"]) ?? "",
      sessionKey: textOf(row["session_key"]),
      active: row["active"] !== 0,
      title: textOf(row["title"]),
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

function open(path: string): DatabaseSync {
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
    {
      ...(cause === undefined ? {} : { cause }),
      details: { file: path },
    },
  );
}
