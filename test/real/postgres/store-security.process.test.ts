import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { Launcher } from "../../cli/launch.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { SCHEMA_VERSION } from "../../../packages/postgres/src/schema/tables.ts";
import { fillHome, transcriptsOf } from "./filled-home.ts";

interface Tenant {
  user: Launcher;
  url: string;
}

let server: PostgresServer;
let owner: Launcher;
let one: Tenant;
let other: Tenant;

async function tenant(name: string): Promise<Tenant> {
  const { url, pooledUrl } = await server.createRole(name);
  const user = new Launcher();
  Object.assign(user.env, { PAGURUS_STORE_URL: pooledUrl });
  return { user, url };
}

before(async () => {
  server = await startPostgres();
  one = await tenant("tenant_one");
  other = await tenant("tenant_other");
  owner = new Launcher();
  Object.assign(owner.env, { PAGURUS_STORE_URL: server.pooledUrl });
  await fillHome(one.user);
});
after(async () => {
  for (const user of [owner, one.user, other.user]) user.remove();
  await server.end();
});

async function json(user: Launcher, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await user.run(["store", ...args, "--json"]);
  assert.equal(code, 0, out + err);
  return JSON.parse(out) as Record<string, unknown>;
}

async function as(url: string, statement: string, values: unknown[] = []): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(statement, values);
  } finally {
    await client.end();
  }
}

test("two programs that create the tables at once make one of each, and a later one changes nothing", async () => {
  const runs = await Promise.all([1, 2, 3].map(() => owner.runProgram(["store", "init", "--json"])));
  for (const { code, err } of runs) assert.equal(code, 0, err);
  const froms = runs.map(({ out }) => (JSON.parse(out) as { from: number }).from);
  assert.deepEqual(
    froms.toSorted((a, b) => a - b),
    [0, SCHEMA_VERSION, SCHEMA_VERSION],
  );
  const { out } = await owner.run(["store", "init"]);
  assert.match(
    out,
    /^The store postgres:\/\/pagurus@127\.0\.0\.1:\d+\/pagurus has version \d+ already, without row-level security\.\n$/,
  );
});

test("tables of a newer version are refused, a schema without tables is named", async () => {
  await server.query("insert into pagurus.migrations (version) values (99)");
  const { code, err } = await owner.run(["store", "init"]);
  assert.equal(code, 1);
  assert.match(err, /of version 99, and this program knows \d+; update pagurus\. \[store_write_failed\]/);
  await server.query("drop index pagurus.sessions_key");
  await server.query("delete from pagurus.migrations where version = 99");
  const missing = await owner.run(["store", "status", "--schema", "elsewhere"]);
  assert.match(
    missing.err,
    /no tables of a store in the schema elsewhere; create them with `pagurus store init`/,
  );
  assert.match(
    (await owner.run(["store", "status", "--schema", 'x"; drop'])).err,
    /is no plain name.*\[usage_invalid\]/,
  );
});

test("with row-level security a tenant reads nothing of another's, by any command or statement", async () => {
  const init = await json(owner, "init", "--rls", "--grant", "tenant_one", "tenant_other");
  assert.equal(init["rowSecurity"], true);
  const up = await one.user.run(["store", "copy", "--to"]);
  assert.equal(up.code, 0, up.err);
  const status = await json(one.user, "status");
  assert.equal(status["tenant"], "tenant_one");
  assert.ok(Number(status["sessions"]) > 10 && Number(status["bytes"]) > 2_000_000, JSON.stringify(status));

  const empty = await json(other.user, "status");
  assert.deepEqual(
    [empty["sessions"], empty["bytes"], empty["leases"], empty["rowSecurity"]],
    [0, 0, [], true],
  );
  assert.match(
    (await other.user.run(["store", "copy", "--from"])).out,
    /^There are no sessions to copy\.\n$/,
  );

  const { rows } = await as(
    server.url,
    "select table_name from information_schema.columns where table_schema = 'pagurus' and column_name = 'tenant'",
  );
  assert.deepEqual(rows.map((row: { table_name: string }) => row.table_name).toSorted(), [
    "approvals",
    "bindings",
    "chunks",
    "cooldowns",
    "counters",
    "events",
    "holds",
    "indexed",
    "jobs",
    "passages",
    "receipts",
    "removed",
    "sessions",
    "spend",
    "tokens",
    "work",
  ]);
  await as(one.url, "insert into pagurus.removed (agent, session_id) values ('a', 'b')");
  assert.equal((await as(other.url, "select from pagurus.removed")).rowCount, 0);
  await as(
    one.url,
    "insert into pagurus.passages (agent, session_id, at, written, words) values ('a', 'b', 0, 0, 'secret')",
  );
  assert.equal((await as(other.url, "select from pagurus.passages where words @@ 'secret'")).rowCount, 0);
  await as(one.url, "insert into pagurus.spend (agent, scope, source, cost) values ('a', 'b', 'c', 1)");
  await as(
    one.url,
    `insert into pagurus.bindings (agent, session_id, runtime, native_id, mirror, host, epoch)
     values ('a', 'b', 'codex', 'thread', 'mirror', 'host', 1)`,
  );
  for (const table of ["bindings", "receipts", "spend"]) {
    assert.ok(((await as(one.url, `select from pagurus.${table}`)).rowCount ?? 0) > 0, table);
    assert.equal((await as(other.url, `select from pagurus.${table}`)).rowCount, 0, table);
    assert.equal((await as(other.url, `delete from pagurus.${table}`)).rowCount, 0, table);
  }
  for (const table of ["chunks", "sessions"]) {
    const name = `pagurus.${table}`;
    assert.equal((await as(other.url, `select from ${name}`)).rowCount, 0, table);
    assert.equal(
      (await as(other.url, `update ${name} set epoch = 99 where tenant = 'tenant_one'`)).rowCount,
      0,
      table,
    );
    assert.equal((await as(other.url, `delete from ${name}`)).rowCount, 0, table);
    assert.ok(((await as(one.url, `select from ${name}`)).rowCount ?? 0) > 10, table);
    await assert.rejects(
      as(one.url, `update ${name} set tenant = 'tenant_other'`),
      /row-level security/,
      table,
    );
    await assert.rejects(as(other.url, `truncate ${name}`), /permission denied/, table);
    await assert.rejects(
      as(other.url, `alter table ${name} disable row level security`),
      /must be owner/,
      table,
    );
  }
  await assert.rejects(
    as(
      other.url,
      "insert into pagurus.chunks (tenant, agent, session_id, at, epoch, bytes) values ('tenant_one', 'a', 'b', 0, 1, '')",
    ),
    /row-level security/,
  );
  await assert.rejects(
    as(other.url, "insert into pagurus.migrations (version) values (98)"),
    /permission denied/,
  );
});

test("two tenants keep the same sessions apart, and a later init keeps the security", async () => {
  const init = await json(owner, "init");
  assert.equal(init["rowSecurity"], true);
  const copied = new Launcher();
  Object.assign(copied.env, { PAGURUS_STORE_URL: one.url });
  assert.equal((await copied.run(["store", "copy", "--from"])).code, 0);
  Object.assign(copied.env, { PAGURUS_STORE_URL: other.url });
  const { out } = await copied.run(["store", "copy", "--to"]);
  assert.match(out, /Sessions by key: \d+ copied\.\n$/);
  const third = new Launcher();
  Object.assign(third.env, { PAGURUS_STORE_URL: other.url });
  await third.run(["store", "copy", "--from"]);
  assert.deepEqual(transcriptsOf(third.env.PAGURUS_HOME), transcriptsOf(one.user.env.PAGURUS_HOME));
  for (const user of [copied, third]) user.remove();
});

test("tables of an earlier version are refused by init, and stay as they are", async () => {
  await server.query("update pagurus.migrations set version = 10");
  try {
    const { code, err } = await owner.run(["store", "init"]);
    assert.equal(code, 1);
    assert.match(
      err,
      /of version 10, and this program knows \d+; use another schema\. \[store_write_failed\]/,
    );
    assert.equal((await json(owner, "status"))["version"], 10);
  } finally {
    await server.query(`update pagurus.migrations set version = ${SCHEMA_VERSION}`);
  }
});
