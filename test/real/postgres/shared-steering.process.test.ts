/** Work of shared sessions that joins a turn, or waits for its session, while other hosts start, look and ask. */
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ServeProcess, type StreamedEvent } from "../../server/serve-setting.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { startServer, type ModelServer } from "../../servers/server.ts";
import { makeSetting, modelConfig } from "../../turn/setting.ts";
import { newHost, newTables } from "./hosts.ts";
import type { PostgresSettings } from "../../../packages/postgres/src/settings.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

interface Hosts {
  a: ServeProcess;
  b: ServeProcess;
  model: ModelServer;
  settings: PostgresSettings;
  /** Lets the model answer. */
  open(): void;
}

/** Two servers in folders of their own. */
async function twoHosts(t: TestContext): Promise<Hosts> {
  const settings = await newTables(database.url, 60);
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
  for (let count = 0; count < 2; count += 1) {
    const config = modelConfig("openai-completions", model.url, { contextWindow: 100_000 });
    hosts.push(
      await ServeProcess.start(makeSetting({ ...config, store: { kind: "postgres", ...settings } })),
    );
  }
  const [a, b] = hosts as [ServeProcess, ServeProcess];
  return { a, b, model, settings, open };
}

async function post(host: ServeProcess, prompt: string, more: object = {}): Promise<string> {
  const { body } = await host.call("POST", "/api/v1/sessions/work/turns", { prompt, ...more });
  return String(body["id"]);
}

async function stateOf(host: ServeProcess, id: string): Promise<unknown> {
  return (await host.call("GET", `/api/v1/work/${id}`)).body["state"];
}

async function timesIn(host: ServeProcess, prompt: string): Promise<number> {
  const { body } = await host.call("GET", "/api/v1/sessions/work/export?format=markdown");
  return String(body["text"]).split(prompt).length - 1;
}

test("what has joined the turn of one host is there once, also where another host starts meanwhile", async (t) => {
  const { a, b, model, open } = await twoHosts(t);
  await b.kill();
  const first = await post(a, "Find a shell.");
  while (model.requests.length === 0) await pause(10);
  const steering = await post(a, "Pay the bill.", { policy: "steer" });
  assert.equal(await stateOf(a, steering), "steering");
  await b.begin();
  await pause(1_500);
  assert.equal(await stateOf(b, steering), "steering");
  open();
  assert.equal((await a.ended(first))["outcome"], "completed");
  const ended = await b.ended(steering);
  assert.deepEqual([ended["outcome"], ended["intoWork"]], ["steered", first]);
  assert.equal(await timesIn(b, "Pay the bill."), 1);
});

test("what was to join the turn of a host that died is done once by the host that takes over", async (t) => {
  const { a, b, model, open, settings } = await twoHosts(t);
  const first = await post(a, "Find a shell.");
  while (model.requests.length === 0) await pause(10);
  const steering = await post(a, "Pay the bill.", { policy: "steer" });
  await a.kill();
  await database.query(
    `update ${settings.schema}.work set claim_until = now() where claim_until is not null`,
  );
  await database.query(
    `update ${settings.schema}.sessions set lease_until = now() where lease_until is not null`,
  );
  open();
  assert.equal((await b.ended(first))["outcome"], "completed");
  assert.ok(["steered", "completed"].includes(String((await b.ended(steering))["outcome"])));
  assert.equal(await timesIn(b, "Pay the bill."), 1);
});

test("what was to join a turn that has ended elsewhere gets a turn of its own", async (t) => {
  const { a, b, model, open, settings } = await twoHosts(t);
  await post(a, "Find a shell.");
  while (model.requests.length === 0) await pause(10);
  const left = await post(b, "Pay the bill.");
  await database.query(
    `update ${settings.schema}.work set state = 'steering', into_work = 'gone' where id = $1`,
    [left],
  );
  open();
  const ended = await b.ended(left);
  assert.deepEqual([ended["outcome"], ended["intoWork"]], ["completed", undefined]);
  assert.equal(await timesIn(b, "Pay the bill."), 1);
});

test("a turn that waited for its session runs like any other: it is stopped elsewhere and not withdrawn", async (t) => {
  const { a, b, model, settings } = await twoHosts(t);
  const other = newHost(t, settings);
  other.create("work", { cwd: a.setting.workspace });
  const writer = other.openWriter("work", { cwd: a.setting.workspace });
  const id = await post(a, "Find a shell.");
  const isWaiting = ({ type }: StreamedEvent): boolean => type === "work.waiting";
  await b.events(`/api/v1/work/${id}/events`, isWaiting);
  // More than one try.
  await pause(1_500);
  writer.close();
  while (model.requests.length === 0) await pause(10);
  assert.equal(await stateOf(b, id), "running");
  assert.equal((await b.call("DELETE", `/api/v1/work/${id}`)).status, 400);
  assert.equal((await b.call("POST", "/api/v1/sessions/work/stop")).status, 200);
  assert.equal((await b.ended(id))["outcome"], "aborted");
  const events = await b.events(`/api/v1/work/${id}/events`, ({ type }) => type === "work.ended");
  assert.equal(events.filter(isWaiting).length, 1);
  assert.ok(events.some(({ type }) => type === "turn.completed"));
});

test("work that is withdrawn while it waits for its session is not run", async (t) => {
  const { a, b, model, open, settings } = await twoHosts(t);
  const other = newHost(t, settings);
  other.create("work", { cwd: a.setting.workspace });
  const writer = other.openWriter("work", { cwd: a.setting.workspace });
  const id = await post(a, "Find a shell.");
  while ((await b.call("DELETE", `/api/v1/work/${id}`)).status !== 200) await pause(10);
  writer.close();
  open();
  const next = await post(b, "And another.");
  assert.equal((await a.ended(next))["outcome"], "completed");
  assert.equal((await b.ended(id))["outcome"], "withdrawn");
  assert.equal(model.requests.length, 1);
});
