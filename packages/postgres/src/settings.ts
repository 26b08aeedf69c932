/** How to reach the database of shared sessions. */
import { PagurusError } from "@pagurus/contract/errors";
import { withVariables } from "@pagurus/core/platform/configured-secret";

export interface PostgresSettings {
  /** A connection address of libpq, `postgres://…`, with its TLS options; `${VARIABLE}` in it is replaced. */
  url?: string | undefined;
  /** Default `pagurus`. */
  schema?: string | undefined;
  /** Seconds after which another host may take over a session whose writer is gone; default 10. */
  lease?: number | undefined;
}

const DEFAULT_SCHEMA = "pagurus";
const DEFAULT_LEASE_SECONDS = 10;
const SHORTEST_LEASE_SECONDS = 0.5;

/** Settings that were checked. */
export interface Target {
  url: string;
  schema: string;
  leaseMs: number;
  /** Host, port and database for sentences; never the password. */
  place: string;
  /** The URL without its password and options. */
  address: string;
}

/** Who chose the settings: their error is that of the configuration, or of the call. */
type Source = "config_invalid" | "usage_invalid";

/**
 * Throws `config_invalid` (or `usage_invalid` for settings of a command), `credential_missing`; the sentence never holds the address, which
 * may have a password.
 */
export function targetOf(
  settings: PostgresSettings,
  env: Readonly<Record<string, string | undefined>> = {},
  source: Source = "config_invalid",
): Target {
  const { schema = DEFAULT_SCHEMA, lease = DEFAULT_LEASE_SECONDS } = settings;
  const invalid = (what: string): PagurusError =>
    new PagurusError(source, `${source === "usage_invalid" ? "The" : "The configuration's"} ${what}.`);
  const url = withVariables(settings.url ?? "", "store.url", env);
  if (url === "")
    throw invalid(
      "store.url is missing; it is the address of the PostgreSQL, postgres://user@host:5432/database",
    );
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^postgres(ql)?:$/.test(parsed.protocol))
    throw invalid("store.url is no address of PostgreSQL; write postgres://user@host:5432/database");
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw invalid(
      `store.schema ${JSON.stringify(schema.slice(0, 80))} is no plain name; use up to 63 lower case letters, digits and "_"`,
    );
  if (!(lease >= SHORTEST_LEASE_SECONDS))
    throw invalid(`store.lease is ${lease} seconds; the shortest is ${SHORTEST_LEASE_SECONDS}`);
  const host = parsed.searchParams.get("host") ?? parsed.hostname;
  const place = `${host || "localhost"}:${parsed.port || "5432"}${parsed.pathname}`;
  const user = parsed.username === "" ? "" : `${parsed.username}@`;
  const address = `postgres://${user}${parsed.host}${parsed.pathname}`;
  return { url, schema, leaseMs: lease * 1_000, place, address };
}
