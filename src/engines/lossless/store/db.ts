/** One connection with its prepared statements. Transactions are short and never held across an await. */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";

export class Db {
  readonly raw: DatabaseSync;
  /** How this connection waits for the other thread of the process to be done with writing. */
  inTurn: <T>(write: () => T) => T = (write) => write();
  readonly #statements = new Map<string, StatementSync>();
  #depth = 0;

  constructor(raw: DatabaseSync) {
    this.raw = raw;
  }

  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.raw.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.prepare(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.prepare(sql).all(...values) as Row[];
  }

  /** Number of rows that changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    const statement = this.prepare(sql);
    if (this.#depth > 0) return Number(statement.run(...values).changes);
    return this.inTurn(() => Number(statement.run(...values).changes));
  }

  /** Takes the write lock at once, so that what is read inside is what is written upon. Nests. */
  transaction<T>(work: () => T): T {
    return this.#depth > 0 ? work() : this.inTurn(() => this.#transaction(work));
  }

  #transaction<T>(work: () => T): T {
    this.raw.exec("BEGIN IMMEDIATE");
    this.#depth += 1;
    try {
      const result = work();
      this.raw.exec("COMMIT");
      return result;
    } catch (error) {
      // A full disk can have ended the transaction already.
      if (this.raw.isTransaction) this.raw.exec("ROLLBACK");
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  /** Several reads of one state of the database. */
  snapshot<T>(work: () => T): T {
    if (this.#depth > 0) return work();
    this.raw.exec("BEGIN");
    this.#depth += 1;
    try {
      return work();
    } finally {
      this.#depth -= 1;
      if (this.raw.isTransaction) this.raw.exec("ROLLBACK");
    }
  }

  close(): void {
    this.#statements.clear();
    if (this.raw.isOpen) this.raw.close();
  }
}
