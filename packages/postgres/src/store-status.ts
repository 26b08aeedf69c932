/** What is in the store's tables: figures for `pagurus store status`. */
import { PagurusError } from "@pagurus/contract/errors";
import { quoted, type Queries } from "./connections.ts";
import { schemaVersion, tenantTables } from "./schema/create-tables.ts";

export interface StoreStatus {
  schema: string;
  version: number;
  /** The role, whose rows are counted here. */
  tenant: string;
  /** Rows of other tenants are kept from this role by the database. */
  rowSecurity: boolean;
  agents: number;
  sessions: number;
  /** Of the transcripts. */
  bytes: number;
  /** Jobs, and tokens that are not revoked, of all hosts. */
  jobs: number;
  tokens: number;
  /** Sessions that a host has now. */
  leases: { agent: string; key: string; holder: string | null; until: string }[];
  /** Of all tables and indexes, those of other tenants included, bytes. */
  sizeOnDisk: number;
}

/** The first version with tables of jobs and tokens. */
const SERVERS_VERSION = 5;

interface Totals {
  tenant: string;
  agents: string;
  sessions: string;
  bytes: string;
}

interface LeaseRow {
  agent: string;
  key: string;
  holder: string | null;
  lease_until: Date;
}

/** Throws `store_read_failed` where the tables are missing. */
export async function storeStatus(db: Queries, schema: string): Promise<StoreStatus> {
  const version = await requireTables(db, schema);
  const sessions = `${quoted(schema)}.sessions`;
  const totals = await db.query<Totals>(
    `select current_user as tenant, count(distinct agent) as agents, count(*) as sessions, coalesce(sum(bytes), 0) as bytes
       from ${sessions} where tenant = current_user`,
  );
  const leases = await db.query<LeaseRow>(
    `select agent, key, holder, lease_until from ${sessions}
      where tenant = current_user and lease_until > now() order by agent, key`,
  );
  const servers = version < SERVERS_VERSION ? undefined : await serverTotals(db, schema);
  const size = await db.query<{ size: string }>(
    `select coalesce(sum(pg_total_relation_size(c.oid)), 0) as size
       from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relkind = 'r'`,
    [schema],
  );
  const [row] = totals.rows;
  const tables = await tenantTables(db, schema);
  return {
    schema,
    version,
    tenant: row?.tenant ?? "",
    rowSecurity: tables.length > 0 && tables.every(({ secured }) => secured),
    agents: Number(row?.agents),
    sessions: Number(row?.sessions),
    bytes: Number(row?.bytes),
    jobs: Number(servers?.jobs ?? 0),
    tokens: Number(servers?.tokens ?? 0),
    leases: leases.rows.map(({ agent, key, holder, lease_until }) => ({
      agent,
      key,
      holder,
      until: lease_until.toISOString(),
    })),
    sizeOnDisk: Number(size.rows[0]?.size),
  };
}

async function serverTotals(
  db: Queries,
  schema: string,
): Promise<{ jobs: string; tokens: string } | undefined> {
  const { rows } = await db.query<{ jobs: string; tokens: string }>(
    `select (select count(*) from ${quoted(schema)}.jobs where tenant = current_user) as jobs,
       (select count(*) from ${quoted(schema)}.tokens where tenant = current_user and revoked is null) as tokens`,
  );
  return rows[0];
}

/** The version of the tables. Throws `store_read_failed` where there are none. */
export async function requireTables(db: Queries, schema: string): Promise<number> {
  const version = await schemaVersion(db, schema);
  if (version > 0) return version;
  throw new PagurusError(
    "store_read_failed",
    `The database has no tables of a store in the schema ${schema}; create them with \`pagurus store init\`.`,
    { details: { schema } },
  );
}
