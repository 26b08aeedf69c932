/** Claims of work and events in the shared inbox: by hosts at the same time, and with an answer that was lost. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { openSharedWork, serverDatabase } from "../../../packages/postgres/src/inbox/shared-work.ts";
import { PAGE_CHARACTERS } from "../../../packages/inbox/src/event-log.ts";
import type { WorkStore } from "../../../packages/inbox/src/work-store.ts";
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

interface Cut {
  work: WorkStore;
  proxy: CuttingProxy;
  schema: string;
  /** A command that waits. */
  id: string;
}

async function openInbox(t: TestContext, url: string, schema: string): Promise<WorkStore> {
  const home = mkdtempSync(join(tmpdir(), "pagurus-claims-"));
  const shared = serverDatabase({ url, schema }, {});
  const work = await openSharedWork({ database: shared, home }, silentLogger);
  t.after(async () => {
    await work.close();
    await shared.end();
    rmSync(home, { recursive: true, force: true });
  });
  return work;
}

async function postCommand(work: WorkStore, sessionKey: string): Promise<string> {
  const asked = { ...PLACE, sessionKey, kind: "command", request: { name: "note" } } as const;
  return (
    await work.inbox.post({
      ...asked,
      policy: "queue",
      origin: "test",
      authority: { ...OWNER, tokenId: "test" },
    })
  ).work.id;
}

/** An inbox behind a proxy, with a command in it. */
async function cutInbox(t: TestContext): Promise<Cut> {
  const { schema = "" } = await newTables(database.url);
  const proxy = await cuttingProxy(t, database.url);
  const work = await openInbox(t, proxy.url, schema);
  return { work, proxy, schema, id: await postCommand(work, PLACE.sessionKey) };
}

async function typesOf({ work }: Pick<Cut, "work">): Promise<string[]> {
  return (await work.events.after(0, {})).map(({ type }) => type);
}

test("work whose claim lost its answer begins once, and not as after a crash", async (t) => {
  const made = await cutInbox(t);
  const { work, proxy, id } = made;
  proxy.cutAfter("SET state = 'running'");
  const begun = await work.inbox.begin(PLACE);
  assert.equal(proxy.lost, 1);
  assert.deepEqual([begun?.work.id, begun?.isAgain], [id, false]);
  assert.deepEqual(await typesOf(made), ["work.accepted", "work.started"]);
  const again = await work.inbox.begin(PLACE);
  assert.equal(again?.isAgain, true, "what this process began and did not end is begun again");
  assert.deepEqual(await typesOf(made), ["work.accepted", "work.started", "work.resumed"]);
});

test("work of a host that died is taken over once where the claim lost its answer", async (t) => {
  const made = await cutInbox(t);
  const { work, proxy, schema, id } = made;
  await database.query(
    `update ${schema}.work set state = 'running', host = 'dead', claim_until = now() - interval '1 s'`,
  );
  proxy.cutAfter("SET state = 'running'");
  const begun = await work.inbox.begin(PLACE);
  assert.equal(proxy.lost, 1);
  assert.deepEqual([begun?.work.id, begun?.isAgain], [id, true]);
  assert.deepEqual(await typesOf(made), ["work.accepted", "work.resumed"]);
});

test("events whose statement lost its answer are stored once, and the same events later are others", async (t) => {
  const made = await cutInbox(t);
  const { work, proxy, id } = made;
  await work.inbox.begin(PLACE);
  const say = (type: string, ...texts: string[]): void =>
    texts.forEach((text) => work.events.add({ ...PLACE, workId: id, type, data: { text } }));
  proxy.cutAfter("SELECT FROM asked");
  say("command.output", "one", "two");
  await work.events.flush();
  assert.equal(proxy.lost, 1);
  say("command.output", "one", "two");
  await work.events.flush();
  const texts = (await work.events.after(0, {}))
    .map(({ data }) => (data as { text?: string }).text)
    .filter(Boolean);
  assert.deepEqual(texts, ["one", "two", "one", "two"]);
});

test("a page of events ends with the event that reaches its characters, and the next page begins after it", async (t) => {
  const { schema = "" } = await newTables(database.url);
  const work = await openInbox(t, database.url, schema);
  const id = await postCommand(work, PLACE.sessionKey);
  await work.inbox.begin(PLACE);
  const half = "é".repeat(PAGE_CHARACTERS / 4);
  const texts = ["a", half, half, "b", half + half, "c", "d"];
  for (const text of texts) work.events.add({ ...PLACE, workId: id, type: "command.output", data: { text } });
  await work.events.flush();
  const pages: string[][] = [];
  for (let seq = 0; ;) {
    const page = await work.events.after(seq, { workId: id });
    const last = page.at(-1);
    if (!last) break;
    seq = last.seq;
    pages.push(page.map(({ type, data }) => (data as { text?: string }).text ?? type));
  }
  assert.deepEqual(pages, [
    ["work.accepted", "work.started", "a", half, half],
    ["b", half + half],
    ["c", "d"],
  ]);
});

test("of posts at the same time only those fail that the database refuses", async (t) => {
  const { schema = "" } = await newTables(database.url);
  const work = await openInbox(t, database.url, schema);
  await database.query(`alter table ${schema}.work add check (session <> 'refused')`);
  const sessions = ["a", "refused", "b", "with\0", "c"];
  const results = await Promise.allSettled(sessions.map(async (session) => postCommand(work, session)));
  assert.deepEqual(
    results.map((result) =>
      result.status === "fulfilled" ? "stored" : (result.reason as { code: string }).code,
    ),
    ["stored", "store_write_failed", "stored", "session_key_invalid", "stored"],
  );
  assert.equal((await typesOf({ work })).length, 3);
});

test("the sessions of a host that died are each taken over once, by hosts that try at the same time", async (t) => {
  const { schema = "" } = await newTables(database.url);
  const hosts = [await openInbox(t, database.url, schema), await openInbox(t, database.url, schema)];
  const [one, other] = hosts as [WorkStore, WorkStore];
  const sessions = Array.from({ length: 12 }, (_, at) => `s${at}`);
  const ids: string[] = [];
  for (const session of sessions) ids.push(await postCommand(one, session));
  await postCommand(one, "s0");
  await database.query(
    `update ${schema}.work set state = 'running', host = 'dead', claim_until = now() - interval '1 s' where id <> all($1)`,
    [ids.slice(6)],
  );
  // Half of them had begun; the orders differ.
  const begun = await Promise.all(
    [sessions, sessions.toReversed()].map(async (order, at) =>
      Promise.all(
        order.map(async (sessionKey) => (at === 0 ? one : other).inbox.begin({ ...PLACE, sessionKey })),
      ),
    ),
  );
  const taken = begun.flat().filter((each) => each !== undefined);
  assert.deepEqual(taken.map(({ work }) => work.id).toSorted(), ids.toSorted());
  for (const { work, isAgain } of taken) assert.equal(isAgain, ids.indexOf(work.id) < 6, work.sessionKey);
  const events = await one.events.after(0, {});
  assert.equal(
    new Set(events.map(({ seq }) => seq)).size,
    events.length,
    "each event has a number of its own",
  );
  const types = events.map(({ type }) => type);
  assert.equal(types.filter((type) => type === "work.resumed").length, 6);
  assert.equal(types.filter((type) => type === "work.started").length, 6);
});
