/** Jobs and tokens of `pagurus store copy`. */
import assert from "node:assert/strict";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { openServerDatabase } from "../../../packages/inbox/src/server-database.ts";
import { JobStore } from "../../../packages/inbox/src/schedule/job-store.ts";
import type { JobRow } from "../../../packages/inbox/src/schedule/jobs.ts";
import { TokenStore } from "../../../packages/server/src/access/token-store.ts";
import { ServerPlace } from "../../../packages/server/src/server-address.ts";
import { Launcher, type Ended } from "../../cli/launch.ts";
import { FULL } from "../../runner/short-form.ts";
import { random } from "../../runner/seeded-random.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { makeSetting } from "../../turn/setting.ts";

let server: PostgresServer;
before(async () => {
  server = await startPostgres();
});
after(async () => await server.end());
beforeEach(async () => {
  await server.query("drop schema if exists pagurus cascade");
});

async function newHome(t: TestContext): Promise<Launcher> {
  const user = new Launcher();
  t.after(() => user.remove());
  Object.assign(user.env, { PAGURUS_STORE_URL: server.pooledUrl });
  assert.equal((await user.run(["store", "init"])).code, 0);
  return user;
}

/** Works with the database of a home's server. */
function records<T>(home: string, work: (jobs: JobStore, tokens: TokenStore) => T): T {
  const db = openServerDatabase(home);
  try {
    return work(new JobStore(db), new TokenStore(db));
  } finally {
    db.close();
  }
}

/** A job each second, whose command writes a line for each time; its id. */
function addJob(home: string, file: string): string {
  const check = { kind: "command", command: `echo run >> ${file}; exit 1` } as const;
  const times = { kind: "every", everyMs: 1_000, from: Date.now() } as const;
  const job = { agentId: "main", sessionKey: "work", times, missed: "once", check } as const;
  return records(home, (jobs) => jobs.add({ ...job, request: { prompt: "Look.", cwd: home } }).id);
}

function jobRows(home: string): JobRow[] {
  const db = openServerDatabase(home);
  try {
    return db.all<JobRow>("SELECT * FROM jobs ORDER BY id");
  } finally {
    db.close();
  }
}

function tokenRows(home: string): object[] {
  const db = openServerDatabase(home);
  try {
    return db.all<object>("SELECT * FROM tokens ORDER BY id").map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}

async function stored<Row extends object>(table: "jobs" | "tokens"): Promise<Row[]> {
  return await server.query<Row & Record<string, unknown>>(`select * from pagurus.${table} order by id`);
}

async function copy(user: Launcher, direction: "--to" | "--from", code = 0): Promise<Ended> {
  const ended = await user.run(["store", "copy", direction]);
  assert.equal(ended.code, code, ended.out + ended.err);
  return ended;
}

test("jobs and tokens are copied there and back, the secrets stay valid, and a second copy changes nothing", async (t) => {
  const [source, target] = [await newHome(t), await newHome(t)];
  const from = source.env.PAGURUS_HOME;
  const [active, paused] = [addJob(from, "x"), addJob(from, "y")];
  const secret = records(from, (jobs, tokens) => {
    jobs.pause(paused);
    tokens.create({ name: "old", scope: "admin" });
    tokens.revoke("old");
    return tokens.create({ name: "phone", scope: "read", sessions: "work*" }).secret;
  });
  const { out } = await copy(source, "--to");
  assert.match(out, /^Jobs: 2 copied\. Those that are on both sides fire at the hosts of the database/m);
  assert.match(out, /^Tokens: 2 copied\.$/m);
  const jobs = await stored<JobRow>("jobs");
  assert.deepEqual(
    new Map(jobs.map((job) => [job.id, job.paused])),
    new Map([
      [active, 0],
      [paused, 1],
    ]),
  );
  assert.match((await source.run(["jobs", "list"])).out, new RegExp(`${active} .* in PostgreSQL `));
  await copy(target, "--from");
  assert.deepEqual(tokenRows(target.env.PAGURUS_HOME), tokenRows(from));
  records(target.env.PAGURUS_HOME, (_jobs, own) => {
    assert.deepEqual(own.callerOf(secret)?.sessions, "work*");
    assert.deepEqual(own.list().filter(({ revokedAt }) => revokedAt !== undefined).length, 1);
  });
  // In neither home one fires.
  for (const { env } of [source, target])
    records(env.PAGURUS_HOME, (own) => assert.deepEqual(own.due(Date.now() + 3_600_000), []));
  const before = [jobRows(from), jobRows(target.env.PAGURUS_HOME)];
  const tokens = await stored("tokens");
  for (const [user, direction] of [
    [source, "--to"],
    [target, "--to"],
    [source, "--from"],
    [target, "--from"],
  ] as const)
    assert.match(
      (await copy(user, direction)).out,
      /^Jobs: 2 there already\. .*\nTokens: 2 there already\.$/m,
    );
  assert.deepEqual([jobRows(from), jobRows(target.env.PAGURUS_HOME)], before);
  assert.deepEqual([await stored("jobs"), await stored("tokens")], [jobs, tokens]);
});

test("a revoked token is revoked on both sides, and a job that was removed there does not come back", async (t) => {
  const user = await newHome(t);
  const home = user.env.PAGURUS_HOME;
  addJob(home, "x");
  records(home, (_jobs, tokens) => {
    tokens.create({ name: "here", scope: "read" });
    tokens.create({ name: "there", scope: "read" });
  });
  await copy(user, "--to");
  records(home, (_jobs, tokens) => tokens.revoke("here"));
  await server.query("update pagurus.tokens set revoked = 1 where name = 'there'");
  await server.query("delete from pagurus.jobs");
  const { out } = await copy(user, "--to");
  assert.match(out, /It was removed there since\.$/m);
  await copy(user, "--from");
  const open = await server.query("select from pagurus.tokens where revoked is null");
  assert.equal(open.length, 0);
  records(home, (jobs, tokens) => {
    assert.ok(tokens.list().every(({ revokedAt }) => revokedAt !== undefined));
    assert.deepEqual(jobs.due(Date.now() + 3_600_000), []);
  });
  assert.deepEqual(await stored("jobs"), []);
});

test("jobs of a home whose server runs are left out and reported; what is another one there is not replaced", async (t) => {
  const user = await newHome(t);
  const home = user.env.PAGURUS_HOME;
  const id = addJob(home, "x");
  const place = ServerPlace.take(home);
  const { out } = await copy(user, "--to", 1);
  place.release();
  assert.match(out, /^job \S+ {2}A server of this home runs; stop it with pagurus serve stop/m);
  assert.deepEqual(await stored("jobs"), []);
  records(home, (jobs) => assert.equal(jobs.due(Date.now() + 3_600_000).length, 1));
  await copy(user, "--to");
  await server.query("update pagurus.jobs set definition = '{}'");
  const ended = await copy(user, "--to", 1);
  assert.match(ended.out, new RegExp(`^job ${id} {2}The job ${id} is another one there\\.$`, "m"));
  const [job] = await stored<JobRow>("jobs");
  assert.equal(job?.definition, "{}");
});

test("after kills of the copy each job is there once and fires at one place", async (t) => {
  const user = await newHome(t);
  const home = user.env.PAGURUS_HOME;
  const ids = Array.from({ length: FULL ? 300 : 150 }, () => addJob(home, "x"));
  const next = random(FULL ? Date.now() : 7);
  let kills = 0;
  for (;;) {
    const { child, ended } = user.start(["store", "copy", "--to"]);
    const isKilled = kills < (FULL ? 30 : 2);
    // It is stopped somewhere among the rows, which the database shows.
    const before = (await stored("jobs")).length;
    while (isKilled && child.exitCode === null && (await stored("jobs")).length === before) await pause(2);
    await pause(next() * 5);
    if (isKilled) child.kill("SIGKILL");
    const { code, out, err } = await ended;
    if (code === 0) break;
    assert.equal(code, null, out + err);
    kills += 1;
    const there = new Map((await stored<JobRow>("jobs")).map((job) => [job.id, job]));
    records(home, (jobs) => {
      const here = new Set(jobs.due(Date.now() + 3_600_000).map((job) => job.id));
      for (const id of there.keys()) assert.ok(!here.has(id), `${id} fires at both places`);
    });
  }
  assert.ok(kills > 0, "some copies were killed");
  const jobs = await stored<JobRow>("jobs");
  assert.deepEqual(
    jobs.map(({ id, paused }) => [id, paused]),
    ids.toSorted().map((id) => [id, 0]),
  );
  records(home, (own) => assert.deepEqual(own.due(Date.now() + 3_600_000), []));
});

test("a job that a copy took along fires at a host of the database, and not at the server of its home", async (t) => {
  const user = await newHome(t);
  const home = user.env.PAGURUS_HOME;
  const [moved, kept] = [join(user.root, "moved"), join(user.root, "kept")];
  for (const file of [moved, kept]) appendFileSync(file, "");
  const lines = (file: string): number => readFileSync(file, "utf8").split("\n").length - 1;
  addJob(home, moved);
  await copy(user, "--to");
  addJob(home, kept);
  const serve = (config: object): ServeProcess => {
    const setting = makeSetting(config);
    t.after(() => setting.remove());
    const served = new ServeProcess(setting);
    t.after(() => served.kill());
    return served;
  };
  const own = serve({});
  own.setting.env["PAGURUS_HOME"] = home;
  await own.begin();
  while (lines(kept) < 3) await pause(50);
  assert.equal(lines(moved), 0, "the home's own server does not fire it");
  const host = serve({ store: { kind: "postgres", url: server.url } });
  await host.begin();
  while (lines(moved) < 2) await pause(50);
});
