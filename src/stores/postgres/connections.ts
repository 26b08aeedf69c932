/** The connections to PostgreSQL: one statement, or one transaction, at a time; a cut connection is tried again. */
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { isPagurusError, PagurusError, type ErrorCode } from "../../contract/errors.ts";
import type { Target } from "./settings.ts";

/** How long a statement is tried again after the connection was cut, ms. */
const RETRY_MS = 8_000;
const CONNECT_MS = 5_000;
const STATEMENT_MS = 30_000;
/** A session has one writer, so few connections serve many. */
const CONNECTIONS = 4;
const LONGEST_PAUSE_MS = 400;

/** Names in place of a value of the tables; `{s}` of a statement is the schema. */
type Values = readonly unknown[];

export class Database {
  readonly target: Target;
  readonly #pool: pg.Pool;

  constructor(target: Target) {
    this.target = target;
    this.#pool = new pg.Pool({
      connectionString: target.url,
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: STATEMENT_MS,
      application_name: "pagurus",
      allowExitOnIdle: true,
    });
    // A connection that was cut while it was idle is opened again by the next statement.
    this.#pool.on("error", () => undefined);
  }

  /** Runs one statement; without a retry, for statements whose repetition is not harmless. */
  async once<R extends object>(text: string, values: Values): Promise<R[]> {
    const { rows } = await this.#pool.query<R & pg.QueryResultRow>(this.#named(text), [...values]);
    return rows;
  }

  /** Runs one statement whose repetition is harmless. Throws an error with the code `code`. */
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
        await client.query("BEGIN");
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
    for (let pause = 20; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return await work();
      } catch (error) {
        if (isPagurusError(error)) throw error;
        if (!isCut(error) || performance.now() > giveUpAt) throw this.failure(code, error);
        await setTimeout(pause);
      }
    }
  }

  failure(code: ErrorCode, cause: unknown): PagurusError {
    if (isPagurusError(cause)) return cause;
    const sqlState = (cause as { code?: unknown } | null)?.code;
    const { place, schema } = this.target;
    const verb = code === "store_write_failed" ? "write to" : "read from";
    const advice =
      sqlState === "42P01" || sqlState === "3F000"
        ? `its schema ${schema} has no tables of ours, run \`pagurus store init\``
        : `${messageOf(cause)}; check that the server runs, and store.url`;
    return new PagurusError(code, `Cannot ${verb} the database ${place}: ${advice}.`, {
      cause,
      details: { place, schema, code: typeof sqlState === "string" ? sqlState : undefined },
    });
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }

  #named(text: string): string {
    return text.replaceAll("{s}", this.target.schema);
  }
}

function messageOf(error: unknown): string {
  // Node reports a host with several addresses as an error without a text.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  return first instanceof Error ? first.message : String(first);
}

/** SQLSTATE classes and codes of a server that went away, starts, or ended a transaction that may be tried again. */
const CUT_STATES = /^(08...|57P0[1-5]|53300|40001|40P01|25P03)$/;
const CUT_SYSTEM = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/;
const CUT_TEXT =
  /Connection terminated|timeout (exceeded )?when trying to connect|Query read timeout|server_login|server conn crashed|pooler/i;

/** Whether the connection, not the statement, failed. */
export function isCut(error: unknown): boolean {
  if (error === undefined || error === null) return false;
  if (error instanceof AggregateError) return error.errors.some(isCut);
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string" && (CUT_STATES.test(code) || CUT_SYSTEM.test(code))) return true;
  return CUT_TEXT.test(messageOf(error));
}

/** A value that is unique exists already. */
export function isDuplicate(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "23505";
}
