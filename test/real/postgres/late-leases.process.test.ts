/** Leases and holds whose answer came too late, and renewals that come after the release. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { acquire } from "../../../packages/postgres/src/acquire.ts";
import { AppendLane } from "../../../packages/postgres/src/append-lane.ts";
import { Database } from "../../../packages/postgres/src/connections.ts";
import { targetOf, type PostgresSettings } from "../../../packages/postgres/src/settings.ts";
import { SharedDatabase } from "../../../packages/postgres/src/shared-database.ts";
import type { Holder } from "../../../packages/postgres/src/shared-rows.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { newHost, newTables } from "./hosts.ts";

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());

const CWD = "/work";
/** Longer than a host waits for an answer. */
const LONG_S = 17;

interface Row {
  session_id: string;
  bytes: string;
  is_live: boolean;
}

async function sessionRow({ schema }: PostgresSettings): Promise<Row> {
  const [row] = await server.query<Row>(
    `select session_id, bytes, coalesce(lease_until > clock_timestamp(), false) as is_live from ${schema}.sessions`,
  );
  assert.ok(row);
  return row;
}

/** Keeps statements on the session's row waiting until the result is called. */
async function lockedRow(t: TestContext, { schema }: PostgresSettings): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  t.after(async () => client.end());
  await client.query(`begin; select from ${schema}.sessions for update`);
  return async () => void (await client.query("commit"));
}

/** Waits until so many statements wait for a lock. */
async function waiting(count: number): Promise<void> {
  const text = "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock'";
  while ((await server.query<{ n: number }>(text))[0]?.n !== count) await pause(10);
}

function holderOf(mirror: string): Holder {
  return { host: "h", pid: 1, since: "now", mirror, process: "p", nonce: randomUUID() };
}

test("a lease that comes after its host gave up waiting is free for other hosts", async (t) => {
  const settings = await newTables(server.url, 2);
  const [a, b] = [newHost(t, settings), newHost(t, settings)];
  a.create("work", { cwd: CWD });
  const slow = server.query(
    `begin; select from ${settings.schema}.sessions for update; select pg_sleep(${LONG_S}); commit`,
  );
  const sleeps = "select from pg_stat_activity where wait_event = 'PgSleep'";
  while ((await server.query(sleeps)).length === 0) await pause(20);
  assert.throws(() => a.openWriter("work", { cwd: CWD }), { code: "store_unreachable" });
  await slow;
  // Longer than the lease.
  await pause(2_500);
  assert.equal((await sessionRow(settings)).is_live, false);
  b.openWriter("work", { cwd: CWD }).close();
});

for (const how of ["acquire", "acquireAhead", "hold"] as const)
  test(`what ${how} gets after its caller gave up is released at once`, async (t) => {
    const settings = await newTables(server.url, 60);
    newHost(t, settings).create("work", { cwd: CWD });
    const { session_id: sessionId } = await sessionRow(settings);
    const database = new SharedDatabase(targetOf(settings, {}), () => undefined);
    t.after(async () => database.end());
    const holder = holderOf("m");
    const request = { agent: "main", key: "work", sessionId, floor: 0, folder: null, holder };
    const open = await lockedRow(t, settings);
    const asked = database[how](request);
    await waiting(1);
    await database.giveUp({ nonce: holder.nonce });
    await open();
    await asked;
    assert.equal((await sessionRow(settings)).is_live, false);
    assert.deepEqual(await server.query(`select from ${settings.schema}.holds`), []);
    // An answer that came just before: it was not received either.
    const again = { ...request, holder: holderOf("m") };
    await database[how](again);
    await database.giveUp({ nonce: again.holder.nonce });
    assert.equal((await sessionRow(settings)).is_live, false);
    assert.deepEqual(await server.query(`select from ${settings.schema}.holds`), []);
  });

test("a renewal that comes after the release does not bring the lease back", async (t) => {
  const settings = await newTables(server.url, 3);
  newHost(t, settings).create("work", { cwd: CWD });
  const { session_id: sessionId, bytes } = await sessionRow(settings);
  const database = new Database(targetOf(settings, {}), { connections: 4 });
  t.after(async () => database.end());
  const got = await acquire(database, { agent: "main", sessionId, floor: 0, holder: holderOf("m") });
  assert.ok(got.state === "won");
  const lost: unknown[] = [];
  const lane = new AppendLane(database, { agent: "main", sessionId, epoch: got.epoch }, (error) =>
    lost.push(error),
  );
  const open = await lockedRow(t, settings);
  void lane.append(Number(bytes), Buffer.from("x\n"), false);
  const closed = lane.close();
  // The release, then the renewal.
  await waiting(2);
  await open();
  await closed;
  await waiting(0);
  assert.deepEqual(lost, []);
  assert.equal((await sessionRow(settings)).is_live, false);
  const next = await acquire(database, { agent: "main", sessionId, floor: 0, holder: holderOf("other") });
  assert.equal(next.state, "won");
});

test("a lease that ran out, and that no other host took, is renewed", async (t) => {
  const settings = await newTables(server.url, 1);
  newHost(t, settings).create("work", { cwd: CWD });
  const { session_id: sessionId } = await sessionRow(settings);
  const database = new Database(targetOf(settings, {}), { connections: 4 });
  t.after(async () => database.end());
  const got = await acquire(database, { agent: "main", sessionId, floor: 0, holder: holderOf("m") });
  assert.ok(got.state === "won");
  const lane = new AppendLane(database, { agent: "main", sessionId, epoch: got.epoch }, () => undefined);
  await server.query(`update ${settings.schema}.sessions set lease_until = now() - interval '1 s'`);
  while (!(await sessionRow(settings)).is_live) await pause(20);
  await lane.close();
  assert.equal((await sessionRow(settings)).is_live, false);
});
