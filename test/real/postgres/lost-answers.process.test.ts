/** What a host of a shared inbox misses, or cannot know, when answers of the database are lost. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { PermissionAnswer } from "../../../packages/contract/src/host/run.ts";
import { openSharedWork, serverDatabase } from "../../../packages/postgres/src/inbox/shared-work.ts";
import type { WorkStore } from "../../../packages/inbox/src/work-store.ts";
import type { Work } from "../../../packages/inbox/src/work.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { cuttingProxy, type CuttingProxy } from "./cutting-proxy.ts";
import { newTables } from "./hosts.ts";
import { OWNER } from "../../../packages/contract/src/host/authority.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

const PLACE = { agentId: "main", sessionKey: "work" };
/** Longer than a statement is tried again. */
const LONGER_MS = 10_000;

interface Hosts {
  /** Reaches the database through the proxy. */
  a: WorkStore;
  b: WorkStore;
  proxy: CuttingProxy;
}

async function openInbox(t: TestContext, url: string, schema: string): Promise<WorkStore> {
  const home = mkdtempSync(join(tmpdir(), "pagurus-lost-"));
  const shared = serverDatabase({ url, schema, lease: 60 }, {});
  const work = await openSharedWork({ database: shared, home }, silentLogger);
  t.after(async () => {
    await work.close();
    await shared.end();
    rmSync(home, { recursive: true, force: true });
  });
  work.inbox.watch?.({ look: () => undefined, left: () => undefined, lost: () => undefined });
  return work;
}

async function twoInboxes(t: TestContext): Promise<Hosts> {
  const { schema = "" } = await newTables(database.url);
  const proxy = await cuttingProxy(t, database.url);
  return { a: await openInbox(t, proxy.url, schema), b: await openInbox(t, database.url, schema), proxy };
}

async function begin({ inbox }: WorkStore, sessionKey: string): Promise<Work> {
  const asked = { ...PLACE, sessionKey, kind: "turn", request: { prompt: "x" }, policy: "queue" } as const;
  await inbox.post({ ...asked, origin: "test", authority: { ...OWNER, tokenId: "test" } });
  const begun = await inbox.begin({ ...PLACE, sessionKey });
  assert.ok(begun);
  return begun.work;
}

function ask({ approvals }: WorkStore, work: Work, signal: AbortSignal): Promise<PermissionAnswer> {
  const { sessionKey } = work;
  return approvals.ask(work, { toolName: "shell", summary: "s", cwd: "/", sessionKey, signal });
}

async function questionAt({ approvals }: WorkStore): Promise<string> {
  for (;;) {
    const [open] = await approvals.open();
    if (open) return open.id;
    await pause(10);
  }
}

const LISTENERS = "select pid from pg_stat_activity where application_name = 'pagurus notifications'";

async function listeners(): Promise<number[]> {
  const rows = await database.query<{ pid: number }>(LISTENERS);
  return rows.map(({ pid }) => pid).toSorted((one, other) => one - other);
}

test(
  "a host whose notifications stop without a cut gets answers and events within seconds, and listens again",
  { timeout: 60_000 },
  async (t) => {
    const { a, b, proxy } = await twoInboxes(t);
    const end = new AbortController();
    t.after(() => end.abort());
    const [own, others] = [await begin(a, "own"), await begin(b, "other")];
    while ((await listeners()).length < 2) await pause(20);
    // Both have noticed that notifications come.
    await pause(1_500);
    const pids = await listeners();
    proxy.mute("LISTEN");
    const answer = ask(a, own, end.signal);
    const seen = (async () => {
      for await (const { type } of a.events.follow(0, { workId: others.id }, end.signal))
        if (type === "command.output") return type;
      return undefined;
    })();
    const question = await questionAt(b);
    await pause(300);
    assert.equal(await b.approvals.answer(question, "once", "test"), true);
    b.events.add({ ...PLACE, sessionKey: "other", workId: others.id, type: "command.output", data: {} });
    assert.equal(await answer, "once");
    assert.equal(await seen, "command.output");
    while (String(await listeners()) === String(pids)) await pause(100);
  },
);

test("an answer whose statement lost its answer is the first one, and the turn gets it", async (t) => {
  const { a, proxy } = await twoInboxes(t);
  const end = new AbortController();
  t.after(() => end.abort());
  const answer = ask(a, await begin(a, "work"), end.signal);
  const question = await questionAt(a);
  proxy.cutAfter("SET answer = ");
  assert.equal(await a.approvals.answer(question, "once", "test"), true);
  assert.equal(proxy.lost, 1);
  assert.equal(await answer, "once");
  assert.equal(await a.approvals.answer(question, "deny", "test"), false);
});

test("equal questions of calls at once, and of later ones, are each answered for themselves", async (t) => {
  const { a } = await twoInboxes(t);
  const end = new AbortController();
  t.after(() => end.abort());
  const work = await begin(a, "work");
  const both = Promise.all([ask(a, work, end.signal), ask(a, work, end.signal)]);
  while ((await a.approvals.open()).length < 2) await pause(10);
  for (const { id } of await a.approvals.open()) await a.approvals.answer(id, "once", "test");
  assert.deepEqual(await both, ["once", "once"]);
  const third = ask(a, work, end.signal);
  await a.approvals.answer(await questionAt(a), "deny", "test");
  assert.equal(await third, "deny");
  // As a later try of the turn, whose last call did not end.
  assert.equal(await ask(a, { ...work }, end.signal), "deny");
});

for (const [what, first, later] of [
  ["events", "tool.started", ["tool.ended", "turn.completed"]],
  ["deltas", "text.delta", ["text.delta"]],
] as const)
  test(
    `${what} after a statement that was done while the database went away are stored, each once`,
    { timeout: 60_000 },
    async (t) => {
      const { a, proxy } = await twoInboxes(t);
      const work = await begin(a, "work");
      const add = (type: string, text: string): void =>
        a.events.add({ ...PLACE, workId: work.id, type, data: { delta: text } });
      add("message", "zero ");
      await a.events.flush();
      proxy.leaveAfter("one ");
      add(first, "one ");
      while (proxy.lost === 0) await pause(10);
      for (const type of later) add(type, `${type} `);
      await pause(LONGER_MS);
      proxy.comeBack();
      await a.events.flush();
      const texts = (await a.events.after(0, { workId: work.id })).flatMap(({ data }) =>
        "delta" in data ? [String(data.delta)] : [],
      );
      assert.deepEqual(texts, ["zero ", "one ", ...later.map((type) => `${type} `)]);
    },
  );
