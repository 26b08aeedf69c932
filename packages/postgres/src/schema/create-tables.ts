/** Creates the tables of the store, and sets the security of their rows. */
import { otherTables, quoted, type Queries } from "../connections.ts";
import { creating, SCHEMA_VERSION } from "./tables.ts";

export interface CreateTablesOptions {
  schema: string;
  /** Each role sees the rows of its own name only, the owner of the tables included. Once set it stays set. */
  rowSecurity?: boolean;
  /** Roles that may use the tables. */
  grant?: readonly string[];
}

export interface CreatedTables {
  /** Version before; 0 for a schema without tables. */
  from: number;
  to: number;
  rowSecurity: boolean;
}

/**
 * Creates the tables in one transaction, under an advisory lock, so that two programs never do at once; with tables of this version only their
 * security and grants change. Throws `store_write_failed` for tables of another version, and what the database throws.
 */
export async function createTables(db: Queries, options: CreateTablesOptions): Promise<CreatedTables> {
  const schema = quoted(options.schema);
  await db.query("begin");
  try {
    await db.query("select pg_advisory_xact_lock(hashtext($1))", [`pagurus ${options.schema}`]);
    if (!(await hasSchema(db, options.schema))) await db.query(`create schema ${schema}`);
    const from = await schemaVersion(db, options.schema);
    if (from === 0) {
      for (const statement of creating(schema)) await db.query(statement);
      await db.query(`insert into ${schema}.migrations (version) values ($1)`, [SCHEMA_VERSION]);
    } else if (from !== SCHEMA_VERSION) throw otherTables(options.schema, from);
    const tables = await tenantTables(db, options.schema);
    const rowSecurity = options.rowSecurity === true || tables.some(({ secured }) => secured);
    if (rowSecurity)
      for (const { name } of tables.filter(({ secured }) => !secured))
        for (const statement of securing(`${schema}.${quoted(name)}`)) await db.query(statement);
    for (const role of options.grant ?? [])
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
