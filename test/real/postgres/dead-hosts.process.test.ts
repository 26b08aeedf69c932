/** A host that died is replaced before its claims run out; one that is cut off or stalls for less than its lease is not. */
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ServeProcess, type StreamedEvent } from "../../server/serve-setting.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { startServer } from "../../servers/server.ts";
import { makeSetting, modelConfig } from "../../turn/setting.ts";
import { runnerOf } from "./host-pair.ts";
import { newTables } from "./hosts.ts";
import { recordTimes } from "./take-over-times.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

const LEASE_S = 12;
/** Longer than several looks of a host at the others. */
const LOOKS_MS = 3_000;

interface Running {
  /** Runs the work. */
  a: ServeProcess;
  b: ServeProcess;
  schema: string;
  /** Work that runs until `open` is called. */
  id: string;
  open(): void;
}

async function runningWork(t: TestContext): Promise<Running> {
  const { schema = "" } = await newTables(database.url);
  await recordTimes(database, schema);
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const model = await startServer({
    protocol: "openai-completions",
    script: async () => {
      await gate;
      return { text: "A shell is found." };
    },
  });
  const hosts: ServeProcess[] = [];
  t.after(async () => {
    open();
    for (const host of hosts) await host.kill();
    await model.close();
  });
  const store = { kind: "postgres", url: database.url, schema, lease: LEASE_S };
  for (let count = 0; count < 2; count += 1) {
    const config = modelConfig("openai-completions", model.url, { contextWindow: 100_000 });
    hosts.push(await ServeProcess.start(makeSetting({ ...config, store })));
  }
  const pair = hosts as [ServeProcess, ServeProcess];
  const { body } = await pair[0].call("POST", "/api/v1/sessions/work/turns", { prompt: "Find a shell." });
  const id = String(body["id"]);
  const [a, b] = await runnerOf(pair, id);
  await pause(LOOKS_MS);
  return { a, b, schema, id, open };
}

const isResumed = ({ type }: StreamedEvent): boolean => type === "work.resumed";
const isEnd = ({ type }: StreamedEvent): boolean => type === "work.ended";

test("another host takes over from one that was killed before its claim runs out", async (t) => {
  const { a, b, schema, id, open } = await runningWork(t);
  await a.kill();
  const [claim] = await database.query<{ until: number }>(
    `select (extract(epoch from claim_until) * 1000)::float8 as until from ${schema}.work where id = $1`,
    [id],
  );
  await b.events(`/api/v1/work/${id}/events`, isResumed);
  const [resumed] = await database.query<{ at: number }>(
    `select (extract(epoch from at) * 1000)::float8 as at from ${schema}.times where work = $1 and type = 'work.resumed'`,
    [id],
  );
  assert.ok(claim && resumed);
  assert.ok(resumed.at < claim.until, `resumed ${Math.round(resumed.at - claim.until)} ms after the claim`);
  open();
  assert.equal((await b.ended(id))["outcome"], "completed");
});

test("a host that is cut off, and one that stalls for less than its lease, keep what they have", async (t) => {
  const { a, b, id, open } = await runningWork(t);
  for (let count = 0; count < 3; count += 1) {
    await database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'pagurus%'",
    );
    await pause(500);
  }
  await pause(LOOKS_MS);
  a.child.kill("SIGSTOP");
  await pause(LEASE_S * 650);
  a.child.kill("SIGCONT");
  await pause(LOOKS_MS);
  open();
  const types = (await b.events(`/api/v1/work/${id}/events`, isEnd)).map(({ type }) => type);
  assert.ok(!types.includes("work.resumed"), types.join(" "));
  assert.equal((await b.ended(id))["outcome"], "completed");
});
