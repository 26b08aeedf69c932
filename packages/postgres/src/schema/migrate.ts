/** Brings the tables of the store to this version, and sets the security of their rows. */
import { newerTables, quoted, type Queries } from "../connections.ts";
import { MIGRATIONS, SCHEMA_VERSION } from "./migrations.ts";

export interface MigrateOptions {
  schema: string;
  /** Each role sees the rows of its own name only, the owner of the tables included. Once set it stays set. */
  rowSecurity?: boolean;
  /** Roles that may use the tables. */
  grant?: readonly string[];
}

export interface Migrated {
  /** Version before; 0 for a schema without tables. */
  from: number;
  to: number;
  rowSecurity: boolean;
}

/**
 * Runs the missing migrations in one transaction, under an advisory lock, so that two programs never migrate at once. Throws
 * `store_write_failed` for tables of a newer version, and what the database throws.
 */
export async function migrate(db: Queries, options: MigrateOptions): Promise<Migrated> {
  const schema = quoted(options.schema);
  await db.query("begin");
  try {
    await db.query("select pg_advisory_xact_lock(hashtext($1))", [`pagurus ${options.schema}`]);
    if (!(await hasSchema(db, options.schema))) await db.query(`create schema ${schema}`);
    const from = await schemaVersion(db, options.schema);
    // Also of a version that this program may use and does not know.
    if (from > SCHEMA_VERSION) throw newerTables(options.schema, from);
    if (from === 0)
      await db.query(
        `create table ${schema}.migrations (version integer primary key, applied_at timestamptz not null default now())`,
      );
    for (const { version, needs, statements } of MIGRATIONS.filter((each) => each.version > from)) {
      for (const statement of statements(schema)) await db.query(statement);
      await db.query(`insert into ${schema}.migrations (version) values ($1)`, [version]);
      if (needs !== undefined)
        await db.query(`update ${schema}.migrations set needs = $2 where version = $1`, [version, needs]);
    }
    const tables = await tenantTables(db, options.schema);
    const rowSecurity = options.rowSecurity === true || tables.some(({ secured }) => secured);
    // A table of a later migration is secured with it.
    if (rowSecurity)
      for (const { name } of tables.filter(({ secured }) => !secured))
        for (const statement of securing(`${schema}.${quoted(name)}`)) await db.query(statement);
    // Roles that may use the tables may use those of a later migration too.
    const users = from > 0 && from < SCHEMA_VERSION ? await grantedRoles(db, options.schema) : [];
    for (const role of new Set([...users, ...(options.grant ?? [])]))
      for (const statement of granting(schema, quoted(role))) await db.query(statement);
    await db.query("commit");
    return { from, to: SCHEMA_VERSION, rowSecurity };
  } catch (error) {
    await db.query("rollback");
    throw error;
  }
}

async function hasSchema(db: Queries, schema: string): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    "select exists (select from pg_namespace where nspname = $1) as found",
    [schema],
  );
  return rows[0]?.found === true;
}

/** The version of the tables; 0 where there are none. */
export async function schemaVersion(db: Queries, schema: string): Promise<number> {
  const table = `${quoted(schema)}.migrations`;
  const { rows } = await db.query<{ found: boolean }>("select to_regclass($1) is not null as found", [table]);
  if (rows[0]?.found !== true) return 0;
  const versions = await db.query<{ version: number | null }>(`select max(version) as version from ${table}`);
  return versions.rows[0]?.version ?? 0;
}

/** Tables with rows of tenants, and whether their rows are secured. */
export async function tenantTables(
  db: Queries,
  schema: string,
): Promise<{ name: string; secured: boolean }[]> {
  const { rows } = await db.query<{ name: string; secured: boolean }>(
    `select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as secured
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind = 'r'
        and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant' and not a.attisdropped)
      order by 1`,
    [schema],
  );
  return rows;
}

/** Roles that the owner of the tables let use them. */
async function grantedRoles(db: Queries, schema: string): Promise<string[]> {
  const { rows } = await db.query<{ grantee: string }>(
    `select distinct grantee::text as grantee from information_schema.table_privileges
      where table_schema = $1 and table_name = 'sessions' and privilege_type = 'INSERT' and grantee <> 'PUBLIC'
        and grantee <> (select tableowner from pg_tables where schemaname = $1 and tablename = 'sessions')`,
    [schema],
  );
  return rows.map(({ grantee }) => grantee);
}

function securing(table: string): string[] {
  return [
    `alter table ${table} enable row level security`,
    // Without it the owner of the table would see every row.
    `alter table ${table} force row level security`,
    `create policy own_rows on ${table} using (tenant = current_user) with check (tenant = current_user)`,
  ];
}

function granting(schema: string, role: string): string[] {
  return [
    `grant usage on schema ${schema} to ${role}`,
    `grant select, insert, update, delete on all tables in schema ${schema} to ${role}`,
    // The versions are the owner's.
    `revoke insert, update, delete on ${schema}.migrations from ${role}`,
    `grant usage on all sequences in schema ${schema} to ${role}`,
  ];
}
