/** Hosts of one database that are killed, stalled and cut off while clients post turns to any of them. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { PASSING_EVENTS } from "../../../packages/inbox/src/event-log.ts";
import { FULL } from "../../runner/short-form.ts";
import { random } from "../../runner/seeded-random.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { textOf } from "../../stores/files/fixtures.ts";
import { modelConfig } from "../../turn/setting.ts";
import { follow, insist, post, type FloodClient } from "./flood-clients.ts";
import { FloodHosts } from "./flood-hosts.ts";
import { answerOf, promptOf, startFloodModel, type FloodModel } from "./flood-model.ts";
import { newTables, openHost } from "./hosts.ts";
import { recordTimes, takeOvers } from "./take-over-times.ts";

const HOSTS = 3;
const SESSIONS = FULL ? 20 : 6;
const LEASE_S = 2;
const HITS = FULL
  ? { kills: 1_000, stalls: 200, restarts: 50, cuts: 100 }
  : { kills: 10, stalls: 3, restarts: 1, cuts: 3 };
const GAP_MS = FULL ? 300 : 600;

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

interface Flood {
  hosts: FloodHosts;
  model: FloodModel;
  clients: FloodClient[];
  schema: string;
}

/** Clients post for as long as hosts are hit; then all work ends. */
async function flood({ hosts, clients }: Flood): Promise<void> {
  let isOver = false;
  const clientWork = clients.flatMap((client, at) => [
    post(hosts, client, { next: random(at + 1), least: 6, isOver: () => isOver }),
    follow(hosts, client, random(at + 100)),
  ]);
  const hits = hosts.hit(HITS, GAP_MS).finally(() => (isOver = true));
  await Promise.all([hits, ...clientWork]);
}

/** What is in the tables: each prompt once, in order, with its answer, and no chunk of an older writer after one of a newer. */
async function checkTranscripts({ clients, schema }: Flood): Promise<void> {
  const stale = await database.query(
    `select * from (select session_id, at, epoch, max(epoch) over (partition by agent, session_id order by at) as newest,
       lag(at + length(bytes)) over (partition by agent, session_id order by at) as wanted from ${schema}.chunks) as c
     where epoch < newest or at <> coalesce(wanted, 0)`,
  );
  assert.deepEqual(stale, [], "no stale write, and no gap");
  const folder = mkdtempSync(join(tmpdir(), "pagurus-reader-"));
  const store = openHost(folder, { url: database.url, schema });
  try {
    for (const { session, works } of clients) {
      const texts: string[] = [];
      const reader = store.openReader(session);
      for await (const entry of reader.cursor.forward()) {
        if (entry.type !== "message") continue;
        const { message } = entry;
        const isAnswer = message.role === "assistant" && textOf(message).startsWith("answer");
        if (message.role === "user" || isAnswer) texts.push(textOf(message));
      }
      reader.close();
      const wanted = works.flatMap((_, at) => [promptOf(session, at), answerOf(session, at)]);
      assert.deepEqual(texts, wanted, session);
    }
  } finally {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function checkWork({ hosts, clients }: Flood): Promise<void> {
  const failed: unknown[] = [];
  for (const { works } of clients) {
    assert.equal(new Set(works).size, works.length, "each post is work of its own");
    for (const id of works) {
      const work = await insist(
        hosts,
        () => 0.9,
        (host, signal) =>
          fetch(`${host.url}/api/v1/work/${id}`, {
            headers: { authorization: `Bearer ${host.key}` },
            signal,
          }),
      );
      if (work["outcome"] !== "completed") failed.push(work);
    }
  }
  assert.deepEqual(failed, [], "all work completed");
}

async function checkEvents({ clients, schema }: Flood): Promise<void> {
  for (const { session, works, events } of clients) {
    const rows = await database.query<{ seq: string; work: string; type: string }>(
      `select seq, work, type from ${schema}.events where session = $1 order by seq`,
      [session],
    );
    const stored = new Set(rows.map(({ seq }) => Number(seq)));
    // Deltas of work that ended some minutes before have been removed.
    const seen = events.filter(({ id, type }) => stored.has(id) || !PASSING_EVENTS.includes(type));
    assert.deepEqual(
      seen.map(({ id }) => id),
      [...stored],
      `${session}: the follower saw each event once`,
    );
    const ends = rows.filter(({ type }) => type === "work.ended").map(({ work }) => work);
    assert.deepEqual(ends, works, "each ends once, in the order of acceptance");
  }
}

/** Model calls that were repeated, at most one for each time that the work was resumed. */
function repeatedCalls({ clients, model }: Flood): number {
  let all = 0;
  for (const { session, works, events } of clients)
    for (const [at, id] of works.entries()) {
      const repeats = [0, 1]
        .map((round) => (model.calls.get(`${session} ${at} ${round}`) ?? 1) - 1)
        .reduce((sum, more) => sum + more, 0);
      const again = events.filter(
        ({ type, data }) => (type === "work.resumed" || type === "work.waiting") && data["work"] === id,
      );
      assert.ok(repeats <= again.length, `${session} #${at}: ${repeats} repeated, ${again.length} reported`);
      all += repeats;
    }
  return all;
}

/** A tool's effect happened at most once. */
function checkEffects({ hosts: { hosts } }: Flood): number {
  const lines = hosts
    .map(({ server }) => join(server.setting.workspace, "ran.txt"))
    .filter((file) => existsSync(file))
    .flatMap((file) => readFileSync(file, "utf8").trim().split("\n"));
  const doubled = lines.filter((line, at) => lines.indexOf(line) !== at);
  assert.deepEqual(doubled, [], "no tool ran twice");
  return lines.length;
}

async function newFlood(t: TestContext): Promise<Flood> {
  const { schema = "" } = await newTables(database.url);
  await recordTimes(database, schema);
  const next = random(22);
  const model = await startFloodModel(() => 50 + next() * 500);
  const hosts = new FloodHosts({ database, schema, leaseMs: LEASE_S * 1_000, next: random(7) });
  t.after(async () => {
    await hosts.end();
    await model.server.close();
  });
  const store = { kind: "postgres", url: database.url, schema, lease: LEASE_S };
  const config = modelConfig("openai-completions", model.server.url, { contextWindow: 900_000 });
  const agents = { defaults: { model: "test/model", permission: { mode: "auto", sandbox: "off" } } };
  await hosts.start(HOSTS, { ...config, agents, store, server: { maxTurns: SESSIONS } });
  const clients = Array.from({ length: SESSIONS }, (_, at) => ({
    session: `s${at}`,
    works: [],
    events: [],
    total: undefined,
  }));
  return { hosts, model, clients, schema };
}

test(`${HOSTS} hosts, ${SESSIONS} sessions, ${HITS.kills} kills, ${HITS.stalls} stalls, ${HITS.restarts} restarts of the database: each turn once`, async (t) => {
  const made = await newFlood(t);
  const { hosts, model, clients, schema } = made;
  await flood(made);
  const posts = clients.reduce((sum, { works }) => sum + works.length, 0);
  const times = await takeOvers(database, schema, hosts);
  const quantile = (share: number): number => Math.round(times[Math.floor((times.length - 1) * share)] ?? 0);
  const crashes = HITS.kills + HITS.stalls + HITS.restarts;
  t.diagnostic(`${posts} turns, ${crashes} crashes, ${model.server.requests.length} model calls`);
  t.diagnostic(
    `${times.length} take-overs: p50 ${quantile(0.5)} ms, p95 ${quantile(0.95)} ms, most ${quantile(1)} ms`,
  );
  assert.deepEqual(
    hosts.hosts.flatMap(({ faults }) => faults),
    [],
    "no host ended by itself",
  );
  await checkWork(made);
  assert.deepEqual(model.faults.slice(0, 5), [], "each request is valid");
  await checkTranscripts(made);
  await checkEvents(made);
  const effects = checkEffects(made);
  const repeated = repeatedCalls(made);
  t.diagnostic(`${repeated} model calls repeated, ${effects} tool calls ran`);
  if (FULL) assert.ok(quantile(0.95) <= LEASE_S * 1_000 + 500, "another host takes over in time");
});
