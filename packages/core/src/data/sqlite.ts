/** SQLite databases: opening with our pragmas, prepared statements, transactions. */
import { chmodSync, existsSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

/** Path of a database that is only in memory. */
export const MEMORY = ":memory:";

export interface OpenSqliteOptions {
  /** `NORMAL` for data that must survive a crash of the machine up to the last checkpoint, `OFF` for derived data. */
  synchronous?: "OFF" | "NORMAL" | "FULL";
  readOnly?: boolean;
  /** Wait for another process's lock, ms. */
  busyTimeoutMs?: number;
}

const BUSY = 5;
const RETRY_MS = 5;

/**
 * Retries while the file is busy. SQLite does not wait when it changes the journal mode: of several processes that create a
 * file at once, all but one are refused immediately.
 */
function patiently(ms: number, work: () => void): void {
  const until = performance.now() + ms;
  for (;;) {
    try {
      return work();
    } catch (error) {
      const { errcode } = error as { errcode?: unknown };
      const isBusy = typeof errcode === "number" && (errcode & 0xff) === BUSY;
      if (!isBusy || performance.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** Opens a database in WAL mode with our pragmas; the file is private to the user. Throws SQLite's errors. */
export function openSqlite(path: string, options: OpenSqliteOptions = {}): Database {
  const fresh = path !== MEMORY && !existsSync(path);
  const raw = new DatabaseSync(path, { readOnly: options.readOnly ?? false });
  const busyTimeoutMs = options.busyTimeoutMs ?? 5_000;
  try {
    raw.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    if (!options.readOnly) {
      patiently(busyTimeoutMs, () => raw.exec("PRAGMA journal_mode = WAL"));
      raw.exec(`PRAGMA synchronous = ${options.synchronous ?? "NORMAL"}`);
      if (fresh) chmodSync(path, 0o600);
    }
    return new Database(raw);
  } catch (error) {
    raw.close();
    throw error;
  }
}

/** Tables of a file. */
export interface Tables {
  version: number;
  /** Creates them in a new file. */
  schema: string;
}

/** One connection with its prepared statements. Transactions are short and never held across an await. */
export class Database {
  readonly raw: DatabaseSync;
  /** Runs a write when the other thread of the process is not writing; absent where no other thread writes. */
  inTurn: (<T>(write: () => T) => T) | undefined;
  readonly #statements = new Map<string, StatementSync>();
  readonly #arrayStatements = new Map<string, StatementSync>();
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

  /** Reads row after row: a loop that ends early reads no further ones. No other reader of the statement may run meanwhile. */
  each<Row>(sql: string, ...values: SQLInputValue[]): Iterable<Row> {
    return this.prepare(sql).iterate(...values) as Iterable<Row>;
  }

  /** Rows as arrays of their columns, in half the time of objects: for reads of many rows. */
  arrays<Columns extends readonly unknown[]>(sql: string, ...values: SQLInputValue[]): Columns[] {
    let statement = this.#arrayStatements.get(sql);
    if (!statement) {
      statement = this.raw.prepare(sql);
      statement.setReturnArrays(true);
      this.#arrayStatements.set(sql, statement);
    }
    return statement.all(...values) as unknown as Columns[];
  }

  /** Number of rows that changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    const statement = this.prepare(sql);
    if (this.#depth > 0 || !this.inTurn) return Number(statement.run(...values).changes);
    return this.inTurn(() => Number(statement.run(...values).changes));
  }

  /** `PRAGMA user_version`: 0 for a new file. */
  version(): number {
    return this.get<{ user_version: number }>("PRAGMA user_version")?.user_version ?? 0;
  }

  /** Creates the tables of a new file. False for a file of another version. Throws SQLite's errors, after which nothing has changed. */
  createTables({ version, schema }: Tables): boolean {
    if (this.version() === 0)
      this.transaction(() => {
        // Another process may have done it while this one waited for the lock.
        if (this.version() === 0) this.raw.exec(`${schema};\nPRAGMA user_version = ${version}`);
      });
    return this.version() === version;
  }

  /** Changes with each write, by this connection or another one. */
  revision(): string {
    const others = this.get<{ data_version: number }>("PRAGMA data_version")?.data_version ?? 0;
    const own = this.get<{ n: number }>("SELECT total_changes() AS n")?.n ?? 0;
    return `${others} ${own}`;
  }

  /** Runs a transaction that takes the write lock immediately, so that its reads stay valid for its writes. Nests. */
  transaction<T>(work: () => T): T {
    if (this.#depth > 0) return work();
    return this.inTurn ? this.inTurn(() => this.#transaction(work)) : this.#transaction(work);
  }

  /**
   * As `transaction`, in a database of `FULL`, without waiting for the disk: it survives the process, and a crash of the machine may
   * undo it together with all that came after it.
   */
  unsynced<T>(work: () => T): T {
    if (this.#depth > 0) return work();
    this.raw.exec("PRAGMA synchronous = NORMAL");
    try {
      return this.transaction(work);
    } finally {
      this.raw.exec("PRAGMA synchronous = FULL");
    }
  }

  #transaction<T>(work: () => T): T {
    this.raw.exec("BEGIN IMMEDIATE");
    this.#depth += 1;
    try {
      const result = work();
      this.raw.exec("COMMIT");
      return result;
    } catch (error) {
      // A full disk may have ended the transaction already.
      if (this.raw.isTransaction) this.raw.exec("ROLLBACK");
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  /** Runs several reads on one state of the database. */
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
    this.#arrayStatements.clear();
    if (this.raw.isOpen) this.raw.close();
  }
}
