/** Servers of several hosts that share one inbox. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { openSharedWork, serverDatabase } from "../../../packages/postgres/src/inbox/shared-work.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import { ServeProcess, type StreamedEvent } from "../../server/serve-setting.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import { makeSetting, modelConfig } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { runnerOf } from "./host-pair.ts";
import { newTables } from "./hosts.ts";
import { OWNER } from "../../../packages/contract/src/host/authority.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

/** Short, where another host takes over. */
const LEASE_S = 2;
/** Of hosts that keep what they have, also on a busy machine. */
const CALM_LEASE_S = 60;

interface Hosts {
  a: ServeProcess;
  b: ServeProcess;
  model: ModelServer;
  schema: string;
}

/** Two servers in folders of their own, with a model that answers when the test lets it. */
async function twoHosts(
  t: TestContext,
  gate: () => Promise<void>,
  { pooled = false, lease = CALM_LEASE_S }: { pooled?: boolean; lease?: number } = {},
): Promise<Hosts> {
  const { schema = "" } = await newTables(database.url);
  const model = await startServer({
    protocol: "openai-completions",
    script: async (request): Promise<ReplyStep> => {
      await gate();
      const { messages } = readBody("openai-completions", request);
      const isAsked = messages.some(({ text }) => text.includes("shell please"));
      if (!isAsked || messages.some(({ role }) => role === "tool")) return { text: "A shell is found." };
      return { toolCalls: [{ id: "c1", name: "shell", arguments: { command: "echo hi > made.txt" } }] };
    },
  });
  const store = { kind: "postgres", url: pooled ? database.pooledUrl : database.url, schema, lease };
  const hosts: ServeProcess[] = [];
  t.after(async () => {
    for (const host of hosts) await host.kill();
    await model.close();
  });
  for (let count = 0; count < 2; count += 1) {
    const config = modelConfig("openai-completions", model.url, { contextWindow: 100_000 });
    hosts.push(await ServeProcess.start(makeSetting({ ...config, store })));
  }
  const [a, b] = hosts as [ServeProcess, ServeProcess];
  return { a, b, model, schema };
}

async function post(host: ServeProcess, session: string, prompt: string, more: object = {}): Promise<string> {
  const answer = await host.call("POST", `/api/v1/sessions/${session}/turns`, { prompt, ...more });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return String(answer.body["id"]);
}

const isEnd = ({ type }: StreamedEvent): boolean => type === "work.ended";

async function prompts(host: ServeProcess, session: string): Promise<string[]> {
  const { body } = await host.call("GET", `/api/v1/sessions/${session}/entries?limit=500`);
  return (body["entries"] as { type: string; message?: { role: string; content: unknown } }[])
    .filter(({ type, message }) => type === "message" && message?.role === "user")
    .map(({ message }) => JSON.stringify(message?.content));
}

/** A gate that is shut until it is opened. */
function shutGate(): { gate: () => Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { gate: () => promise, open: resolve };
}

for (const pooled of [false, true])
  test(`a turn that runs on one host is followed, queued after and stopped on the other${pooled ? ", through pgbouncer" : ""}`, async (t) => {
    const { gate, open } = shutGate();
    const { a, b } = await twoHosts(t, gate, { pooled });
    const first = await post(a, "work", "Find a shell.");
    const seen = b.events(`/api/v1/work/${first}/events`, isEnd);
    const second = await post(b, "work", "And another.");
    const waiting = await a.call("GET", `/api/v1/work/${second}`);
    assert.deepEqual([waiting.body["state"], waiting.body["ahead"]], ["waiting", 1]);
    open();
    const types = (await seen).map(({ type }) => type);
    assert.equal(types[0], "work.accepted");
    assert.ok(types.includes("turn.completed"), types.join(" "));
    assert.equal((await a.ended(second))["outcome"], "completed");
    const own = await a.events(`/api/v1/work/${first}/events`, isEnd);
    const others = await b.events(`/api/v1/work/${first}/events`, isEnd);
    assert.deepEqual(own, others, "the ids of events are the same on each host");
    assert.equal((await prompts(b, "work")).length, 2);
  });

test("a turn is stopped by a host that does not run it", async (t) => {
  const { gate, open } = shutGate();
  t.after(open);
  const { a, b } = await twoHosts(t, gate);
  const id = await post(a, "work", "Find a shell.");
  while ((await b.call("GET", `/api/v1/work/${id}`)).body["state"] !== "running") await pause(20);
  const stopped = await b.call("POST", `/api/v1/work/${id}/stop`);
  assert.equal(stopped.status, 200);
  assert.equal((await b.ended(id))["outcome"], "aborted");
});

test("permission questions and later messages of a turn are answered at the host that does not run it", async (t) => {
  const { a, b } = await twoHosts(t, async () => undefined);
  const id = await post(a, "work", "shell please", { permission: "ask" });
  const asked = await b.events(`/api/v1/work/${id}/events`, ({ type }) => type === "approval.asked");
  const question = String(asked.at(-1)?.data["id"]);
  const listed = await b.call("GET", "/api/v1/approvals");
  assert.deepEqual(
    (listed.body["approvals"] as { id: string }[]).map((each) => each.id),
    [question],
  );
  const steering = await post(b, "work", "also this", { policy: "steer" });
  while ((await a.call("GET", `/api/v1/work/${steering}`)).body["state"] !== "steering") await pause(20);
  const direct = await b.call("POST", "/api/v1/sessions/work/steer", { text: "and this" });
  assert.deepEqual([direct.status, direct.body], [200, { steered: true }]);
  const idle = await b.call("POST", "/api/v1/sessions/idle/steer", { text: "no turn runs" });
  assert.equal(idle.status, 409, JSON.stringify(idle.body));
  const answered = await b.call("POST", `/api/v1/approvals/${question}`, { answer: "once" });
  assert.equal(answered.body["answered"], true);
  assert.equal((await a.ended(id))["outcome"], "completed");
  const ended = await b.ended(steering);
  assert.deepEqual([ended["outcome"], ended["intoWork"]], ["steered", id]);
  const all = await a.call("GET", "/api/v1/sessions/work/work");
  for (const { id: each } of all.body["work"] as { id: string }[]) await b.ended(each);
  const texts = await prompts(b, "work");
  assert.equal(texts.length, 3);
  assert.ok(texts.some((text) => text.includes("and this")));
});

test("the same idempotency key is one turn, at whichever host it is posted", async (t) => {
  const { a, b } = await twoHosts(t, async () => undefined);
  const body = { prompt: "Once." };
  const key = { "idempotency-key": "one" };
  const answers = await Promise.all(
    [a, b, a, b].map(async (host) => host.call("POST", "/api/v1/sessions/work/turns", body, key)),
  );
  const ids = new Set(answers.map((answer) => answer.body["id"]));
  assert.equal(ids.size, 1, JSON.stringify(answers.map(({ body }) => body)));
  await a.ended(String(answers[0]?.body["id"]));
  assert.equal((await prompts(b, "work")).length, 1);
  const other = await b.call("POST", "/api/v1/sessions/work/turns", { prompt: "Other." }, key);
  assert.equal(other.body["code"] ?? (other.body["error"] as { code: string }).code, "idempotency_conflict");
});

test("work that a killed host had accepted or begun is done by the other, each once", async (t) => {
  const { gate, open } = shutGate();
  const hosts = await twoHosts(t, gate, { lease: LEASE_S });
  const { model } = hosts;
  const ids: string[] = [];
  for (const prompt of ["One.", "Two.", "Three."]) ids.push(await post(hosts.a, "work", prompt));
  const [a, b] = await runnerOf([hosts.a, hosts.b], ids[0] ?? "");
  while (model.requests.length === 0) await pause(20);
  await a.kill();
  open();
  for (const id of ids) assert.equal((await b.ended(id))["outcome"], "completed");
  const said = await prompts(b, "work");
  assert.equal(said.length, 3, said.join("\n"));
  const events = await b.events(
    "/api/v1/sessions/work/events?after=0",
    ({ type, data }) => type === "work.ended" && data["work"] === ids[2],
  );
  // More than once where the machine is slower than the lease.
  assert.ok(events.some(({ type }) => type === "work.resumed"));
  assert.equal(events.filter(isEnd).length, 3);
});

test("a turn whose claim another host took is not recorded as aborted by the host that still has its session", async (t) => {
  const { gate, open } = shutGate();
  const { a, b, model, schema } = await twoHosts(t, gate, { lease: LEASE_S });
  const id = await post(a, "work", "Find a shell.");
  while (model.requests.length === 0) await pause(20);
  const claim = `update ${schema}.work set host = 'third', claim_until = now() + interval '1 hour'`;
  await database.query(claim);
  const writers = `select session_id from ${schema}.sessions where holder is not null`;
  while ((await database.query(writers)).length > 0) await pause(20);
  open();
  await database.query(`update ${schema}.work set host = null, claim_until = null, state = 'waiting'`);
  const next = await post(b, "work", "And another.");
  assert.equal((await b.ended(id))["outcome"], "completed");
  assert.equal((await b.ended(next))["outcome"], "completed");
  assert.equal((await prompts(b, "work")).length, 2);
});

test("a host that stalled for longer than its lease adds nothing to the turn that another one took over", async (t) => {
  const { gate, open } = shutGate();
  const hosts = await twoHosts(t, gate, { lease: LEASE_S });
  const id = await post(hosts.a, "work", "Find a shell.");
  const [a, b] = await runnerOf([hosts.a, hosts.b], id);
  a.child.kill("SIGSTOP");
  const resumed = b.events(`/api/v1/work/${id}/events`, ({ type }) => type === "work.resumed");
  await resumed;
  open();
  assert.equal((await b.ended(id))["outcome"], "completed");
  a.child.kill("SIGCONT");
  const next = await post(a, "work", "And another.");
  assert.equal((await b.ended(next))["outcome"], "completed");
  const events = await b.events(
    "/api/v1/sessions/work/events?after=0",
    ({ type, data }) => type === "work.ended" && data["work"] === next,
  );
  assert.equal(events.filter(({ type }) => type === "turn.completed").length, 2);
  assert.equal((await prompts(a, "work")).length, 2);
});

test("a restart of the database pauses a stream of events, loses none, and later work is noticed at once", async (t) => {
  const { gate, open } = shutGate();
  const { a, b } = await twoHosts(t, gate, { lease: LEASE_S });
  const id = await post(a, "work", "Find a shell.");
  const events = b.events(`/api/v1/work/${id}/events`, isEnd);
  while ((await b.call("GET", `/api/v1/work/${id}`)).body["state"] !== "running") await pause(20);
  await database.stop("kill");
  await database.start();
  open();
  const seen = await events;
  assert.equal(seen.at(-1)?.data["outcome"], "completed");
  const ids = seen.map((event) => event.id);
  assert.deepEqual(
    ids,
    [...new Set(ids)].toSorted((one, other) => one - other),
  );
  const next = await post(b, "work", "And another.");
  assert.equal((await a.ended(next))["outcome"], "completed");
  assert.equal((await prompts(a, "work")).length, 2);
});

test("work of a session that is deleted is forgotten, with its text", async (t) => {
  const { a, b, schema } = await twoHosts(t, async () => undefined);
  await a.ended(await post(a, "gone", "Hidden words."));
  const kept = await post(a, "kept", "Other words.");
  await a.ended(kept);
  assert.equal((await b.call("DELETE", "/api/v1/sessions/gone")).status, 200);
  const rows = await database.query<{ session: string }>(
    `select distinct session from ${schema}.events union select session from ${schema}.work`,
  );
  assert.deepEqual(
    rows.map(({ session }) => session),
    ["kept"],
  );
  assert.equal((await b.call("GET", `/api/v1/work/${kept}`)).body["outcome"], "completed");
});

test("ended work without a session is removed by one statement, open work stays", async (t) => {
  const settings = await newTables(database.url);
  const home = mkdtempSync(join(tmpdir(), "pagurus-work-"));
  const shared = serverDatabase(settings, {});
  const work = await openSharedWork({ database: shared, home }, silentLogger);
  t.after(async () => {
    await work.close();
    await shared.end();
    rmSync(home, { recursive: true, force: true });
  });
  const { inbox, events } = work;
  const posted = async (sessionKey: string): Promise<string> => {
    const asked = {
      agentId: "main",
      sessionKey,
      kind: "turn",
      request: { prompt: "Hidden." },
      policy: "queue",
    } as const;
    return (await inbox.post({ ...asked, origin: "test", authority: { ...OWNER, tokenId: "test" } })).work.id;
  };
  const [gone, open] = [await posted("gone"), await posted("open")];
  const begun = await inbox.begin({ agentId: "main", sessionKey: "gone" });
  assert.equal(begun?.work.id, gone);
  assert.equal(await inbox.ended(begun.work, { outcome: "failed" }), true);
  assert.equal(await inbox.ended(begun.work, { outcome: "completed" }), false, "it ends once");
  await inbox.forgetDeleted?.(Date.now() - 60_000);
  assert.ok(await inbox.find(gone), "it ended just now");
  await inbox.forgetDeleted?.(Date.now() + 1);
  assert.equal(await inbox.find(gone), undefined);
  assert.deepEqual(
    (await events.after(0, {})).map(({ workId }) => workId),
    [open],
  );
  assert.equal((await inbox.get(open)).state, "waiting");
});
