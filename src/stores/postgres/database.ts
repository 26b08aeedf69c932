/** One connection to PostgreSQL, for the commands that set up, describe and fill the store. */
import { PagurusError, isPagurusError } from "../../contract/errors.ts";

const CONNECT_TIMEOUT_MS = 15_000;

export interface QueryRows<Row> {
  rows: Row[];
  rowCount: number | null;
}

/** What statements run on. */
export interface Queries {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<QueryRows<Row>>;
}

/** Names that need no quotes anywhere: also within a literal of a statement. */
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** The same name; throws `usage_invalid` for one that cannot be a schema of ours. */
export function checkedSchema(name: string): string {
  if (SCHEMA_NAME.test(name)) return name;
  throw new PagurusError(
    "usage_invalid",
    `The schema ${JSON.stringify(name.slice(0, 80))} is not valid; use up to 63 small letters, digits and "_", not starting with a digit.`,
  );
}

/** A name as an identifier in a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A URL without its password and options, for messages. Throws `usage_invalid` for a text that is no URL of PostgreSQL. */
export function placeOf(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    // The reason would quote the URL, and with it the password.
    throw invalidUrl();
  }
  if (!/^postgres(ql)?:$/.test(parsed.protocol)) throw invalidUrl();
  const user = parsed.username === "" ? "" : `${parsed.username}@`;
  return `postgres://${user}${parsed.host}${parsed.pathname}`;
}

function invalidUrl(): PagurusError {
  return new PagurusError(
    "usage_invalid",
    "The store's URL is not one of PostgreSQL; write postgres://USER:PASSWORD@HOST:PORT/DATABASE.",
  );
}

/**
 * Connects, runs the work and disconnects. Loads the driver. What the database reports becomes an error with `code` and a sentence that names
 * the place without the password; an error of ours passes. Throws `usage_invalid` for an invalid URL.
 */
export async function withDatabase<T>(
  url: string,
  code: "store_read_failed" | "store_write_failed",
  work: (db: Queries) => Promise<T>,
): Promise<T> {
  const place = placeOf(url);
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    connectionString: url,
    application_name: "pagurus",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // A cut connection rejects the running statement as well; without a listener it would end the process.
  client.on("error", () => undefined);
  const db: Queries = {
    query: async <Row extends object>(text: string, values?: readonly unknown[]) =>
      (await client.query(text, values && [...values])) as QueryRows<Row>,
  };
  try {
    await client.connect();
    return await work(db);
  } catch (error) {
    if (isPagurusError(error)) throw error;
    throw failure(code, place, error);
  } finally {
    await client.end();
  }
}

function failure(
  code: "store_read_failed" | "store_write_failed",
  place: string,
  error: unknown,
): PagurusError {
  const { code: state } = error as { code?: unknown };
  // Node.js reports a refused connection to several addresses as one error without a message.
  const message = error instanceof Error && error.message !== "" ? error.message : String(state);
  return new PagurusError(
    code,
    `The store ${place} failed: ${message}; check that the server runs, and that this role may use the database.`,
    { cause: error, details: { place, code: state } },
  );
}
