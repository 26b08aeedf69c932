/** The connections to PostgreSQL: one statement, or one transaction, at a time; a cut connection is tried again. */
import { errorText } from "@pagurus/core/data/error-text";
import { backOffMs } from "@pagurus/core/data/back-off";
import { hash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { isPagurusError, PagurusError, type ErrorCode } from "@pagurus/contract/errors";
import { SCHEMA_VERSION } from "./schema/tables.ts";
import type { Target } from "./settings.ts";
import { defined } from "@pagurus/core/data/defined";

/** How long a statement is tried again after the connection was cut, ms. */
const RETRY_MS = 8_000;
const CONNECT_MS = 5_000;
/** A name compares in another collation than that of the indexes, which then do not find a tenant's rows. */
const MINE = 'tenant = current_user::text COLLATE "default"';
const MOST_TEXTS = 500;
const PAUSES = { firstMs: 20, longestMs: 400 };

/** What the statements of a command run on: one connection. */
export interface Queries {
  query<Row extends object>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>;
}

/** A name as an identifier in a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Runs a command's work on one connection of its own, without retries and without a time limit for a statement. Throws errors of ours, and
 * what the database reports with the code `code`.
 */
export async function withDatabase<T>(
  target: Target,
  code: "store_read_failed" | "store_write_failed",
  work: (db: Queries) => Promise<T>,
): Promise<T> {
  const database = new Database(target, { connections: 1 });
  try {
    return await database.session(code, work);
  } finally {
    await database.end();
  }
}

/** Names in place of a value of the tables; `{s}` of a statement is the schema. */
type Values = readonly unknown[];

export class Database {
  readonly target: Target;
  readonly #pool: pg.Pool;
  /** Connections without a pooler between, which keep prepared statements. */
  readonly #direct = new WeakSet<object>();
  /** Statements as they are sent. */
  readonly #texts = new Map<string, string>();
  /** Names of prepared statements, by text. */
  readonly #names = new Map<string, string>();
  /** False once a server did not know a statement that was prepared. */
  #mayPrepare = true;

  /** `statementMs`: after it a statement counts as cut off; default: never. */
  constructor(target: Target, { connections, statementMs }: { connections: number; statementMs?: number }) {
    this.target = target;
    this.#pool = new pg.Pool({
      connectionString: target.url,
      max: connections,
      connectionTimeoutMillis: CONNECT_MS,
      ...defined({ query_timeout: statementMs }),
      application_name: "pagurus",
      allowExitOnIdle: true,
      verify: (client, done) => void this.#connected(client).then(() => done(), done),
    });
    // A connection that was cut while it was idle is opened again by the next statement.
    this.#pool.on("error", () => undefined);
  }

  /** Runs work on one connection, once. What it throws gets the code `code`, unless it is an error of ours. */
  async session<T>(code: ErrorCode, work: (db: Queries) => Promise<T>): Promise<T> {
    let client: pg.PoolClient | undefined;
    try {
      client = await this.#pool.connect();
      return await work(queriesOn(client));
    } catch (error) {
      throw this.failure(code, error);
    } finally {
      // The work may have failed within a transaction.
      client?.release(true);
    }
  }

  /** Whether no pooler is between: locks of a connection end with it. Throws `store_read_failed`. */
  isDirect(): Promise<boolean> {
    return this.#retried("store_read_failed", async () => {
      const client = await this.#pool.connect();
      client.release();
      return this.#direct.has(client);
    });
  }

  /** Runs one statement; without a retry, for statements whose repetition is not harmless. */
  async once<R extends object>(text: string, values: Values): Promise<R[]> {
    const client = await this.#pool.connect();
    let failure: unknown;
    try {
      return await this.#run<R>(client, this.#named(text), values);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.release(isCut(failure));
    }
  }

  /** Runs one statement whose repetition is harmless. Throws `store_unreachable`, or an error with the code `code`. */
  async rows<R extends object>(code: ErrorCode, text: string, values: Values): Promise<R[]> {
    return this.#retried(code, () => this.once<R>(text, values));
  }

  /** Runs work in one transaction, again from its start after a cut connection. */
  async transaction<T>(
    code: ErrorCode,
    work: (run: <R extends object>(text: string, values: Values) => Promise<R[]>) => Promise<T>,
  ): Promise<T> {
    return this.#retried(code, async () => {
      const client = await this.#pool.connect();
      let failure: unknown;
      try {
        // A host that is stopped in the middle must not keep its locks for longer than its leases.
        const idleMs = Math.ceil(this.target.leaseMs);
        await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`);
        const result = await work(async <R extends object>(text: string, values: Values) => {
          const { rows } = await client.query<R & pg.QueryResultRow>(this.#named(text), [...values]);
          return rows;
        });
        await client.query("COMMIT");
        return result;
      } catch (error) {
        failure = error;
        await client.query("ROLLBACK").catch(() => undefined);
        throw error;
      } finally {
        client.release(isCut(failure));
      }
    });
  }

  async #retried<T>(code: ErrorCode, work: () => Promise<T>): Promise<T> {
    const giveUpAt = performance.now() + RETRY_MS;
    for (let failures = 1; ; failures += 1) {
      try {
        return await work();
      } catch (error) {
        if (isPagurusError(error)) throw error;
        if (!isCut(error) || performance.now() > giveUpAt) throw this.failure(code, error);
        await setTimeout(backOffMs(failures, PAUSES));
      }
    }
  }

  failure(code: ErrorCode, cause: unknown): PagurusError {
    if (isPagurusError(cause)) return cause;
    const sqlState = (cause as { code?: unknown } | null)?.code;
    const { place, schema } = this.target;
    const verb = code === "store_write_failed" ? "write to" : "read from";
    const state = typeof sqlState === "string" ? sqlState : "";
    const advice = adviceFor(state, schema, cause);
    const known = isCut(cause) ? "store_unreachable" : state in SHORTAGES ? "store_full" : code;
    return new PagurusError(known, `Cannot ${verb} the database ${place}: ${advice}.`, {
      cause,
      details: { place, schema, code: state === "" ? undefined : state },
    });
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }

  /** Before the first statement of each connection. A pooler gives out another process number than that of the server's process. */
  async #connected(client: pg.ClientBase): Promise<void> {
    // The statement that runs reports a cut connection as well.
    client.on("error", () => undefined);
    const table = `${quoted(this.target.schema)}.migrations`;
    const { rows } = await client.query<{ pid: number; has_tables: boolean }>(
      "SELECT pg_backend_pid() AS pid, to_regclass($1) IS NOT NULL AS has_tables",
      [table],
    );
    const [row] = rows;
    if (row?.pid === (client as { processID?: number | null }).processID) this.#direct.add(client);
    if (row?.has_tables === true) await assertUsable(client, this.target.schema);
  }

  #named(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const named = text.replaceAll("{s}", this.target.schema).replaceAll("tenant = current_user", MINE);
    if (this.#texts.size < MOST_TEXTS) this.#texts.set(text, named);
    return named;
  }

  async #run<R extends object>(client: pg.ClientBase, text: string, values: Values): Promise<R[]> {
    type Row = R & pg.QueryResultRow;
    if (this.#mayPrepare && this.#direct.has(client))
      try {
        return (await client.query<Row>({ name: this.#nameOf(text), text, values: [...values] })).rows;
      } catch (error) {
        if (!isUnprepared(error)) throw error;
        // Some pooler that is not recognized, or tables of another version: nothing was done.
        this.#mayPrepare = false;
      }
    return (await client.query<Row>(text, [...values])).rows;
  }

  #nameOf(text: string): string {
    const name = this.#names.get(text) ?? hash("sha256", text, "hex").slice(0, 32);
    this.#names.set(text, name);
    return name;
  }
}

/** Throws `store_write_failed` where the tables are for newer programs only. */
async function assertUsable(client: pg.ClientBase, schema: string): Promise<void> {
  const { rows } = await client.query<{ version: number | null; needs: number | null }>(
    `SELECT max(version) AS version, max(coalesce(needs, version)) AS needs
       FROM ${quoted(schema)}.migrations`,
  );
  const { version = null, needs = null } = rows[0] ?? {};
  if ((needs ?? 0) > SCHEMA_VERSION) throw otherTables(schema, version ?? 0);
}

/** Error for tables of another program's version. */
export function otherTables(schema: string, version: number): PagurusError {
  return new PagurusError(
    "store_write_failed",
    `The tables in the schema ${schema} are of version ${version}, and this program knows ${SCHEMA_VERSION}; ${version > SCHEMA_VERSION ? "update pagurus" : "use another schema"}.`,
    { details: { version } },
  );
}

function queriesOn(client: pg.PoolClient): Queries {
  // A connection that is cut between two statements is reported by the next one.
  client.on("error", () => undefined);
  return {
    query: async <Row extends object>(text: string, values?: readonly unknown[]) => {
      const { rows, rowCount } = await client.query<Row & pg.QueryResultRow>(text, values && [...values]);
      return { rows, rowCount };
    },
  };
}

function messageOf(error: unknown): string {
  // Node reports a host with several addresses as an error without a text.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  return errorText(first);
}

/** Cause and remedy, as the end of a sentence without its full stop. */
function adviceFor(sqlState: string, schema: string, cause: unknown): string {
  if (NOT_OURS.test(sqlState))
    return `its schema ${schema} has no tables of this version, run \`pagurus store init\``;
  const shortage = SHORTAGES[sqlState];
  if (shortage !== undefined) return shortage;
  return `${messageOf(cause)}; check that the server runs, that this role may use the database, and store.url`;
}

/** What the database's server has run out of, by SQLSTATE. What it acknowledged is stored. */
const SHORTAGES: Readonly<Record<string, string>> = {
  "53100":
    "the disk of the database's server is full; free space there. Nothing is lost that was acknowledged",
  "53200":
    "the database's server is out of memory; free some, or try again. Nothing is lost that was acknowledged",
  "53400":
    "a limit of the database's server was reached, such as temp_file_limit; raise it. Nothing is lost that was acknowledged",
};

/** SQLSTATE classes and codes of a server that went away, starts, or ended a transaction that may be tried again. */
const CUT_STATES = /^(08...|57P0[1-5]|53300|40001|40P01|25P03)$/;
/** SQLSTATE of a table, a schema or a column that is missing. */
const NOT_OURS = /^(42P01|3F000|42703)$/;
const CUT_SYSTEM = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/;
const CUT_TEXT =
  /Connection terminated|not queryable|timeout (exceeded )?when trying to connect|Query read timeout|server_login|server conn crashed|pooler/i;

/** Whether the connection, not the statement, failed. */
export function isCut(error: unknown): boolean {
  if (error === undefined || error === null) return false;
  if (error instanceof AggregateError) return error.errors.some(isCut);
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string" && (CUT_STATES.test(code) || CUT_SYSTEM.test(code))) return true;
  return CUT_TEXT.test(messageOf(error));
}

/** A prepared statement is not there, exists already, or has other columns since. */
function isUnprepared(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "26000" || code === "42P05" || code === "0A000";
}

/** A value that is unique exists already. */
export function isDuplicate(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "23505";
}
