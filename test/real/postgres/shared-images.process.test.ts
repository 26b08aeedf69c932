/** Images of work in the inbox that several hosts share: apart from the request, and read when the work begins. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { openSharedWork, serverDatabase } from "../../../packages/postgres/src/inbox/shared-work.ts";
import type { TurnWork, Work } from "../../../packages/inbox/src/work.ts";
import type { WorkStore } from "../../../packages/inbox/src/work-store.ts";
import { OWNER } from "../../../packages/contract/src/host/authority.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import { startPostgres, type PostgresServer } from "../../servers/postgres.ts";
import { newTables } from "./hosts.ts";

let database: PostgresServer;
before(async () => {
  database = await startPostgres();
});
after(async () => await database.end());

const PLACE = { agentId: "main", sessionKey: "work" };
const REQUEST: TurnWork = {
  prompt: "Look.",
  parts: [
    { type: "image", data: "A".repeat(50_000), mimeType: "image/png" },
    { type: "text", text: "And:" },
    { type: "image", data: "BBBB", mimeType: "image/png" },
  ],
};

async function openHost(t: TestContext, schema: string): Promise<WorkStore> {
  const home = mkdtempSync(join(tmpdir(), "pagurus-images-"));
  const shared = serverDatabase({ url: database.url, schema }, {});
  const work = await openSharedWork({ database: shared, home }, silentLogger);
  t.after(async () => {
    await work.close();
    await shared.end();
    rmSync(home, { recursive: true, force: true });
  });
  return work;
}

async function twoHosts(t: TestContext): Promise<{ schema: string; one: WorkStore; other: WorkStore }> {
  const { schema = "" } = await newTables(database.url);
  return { schema, one: await openHost(t, schema), other: await openHost(t, schema) };
}

async function post({ inbox }: WorkStore, request = REQUEST, idempotencyKey?: string): Promise<Work> {
  const asked = { ...PLACE, kind: "turn", request, policy: "queue", origin: "test" } as const;
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  return (await inbox.post({ ...asked, ...key, authority: { ...OWNER, tokenId: "test" } })).work;
}

test("images are in no list, and in the work that begins, also at another host after a crash", async (t) => {
  const { schema, one, other } = await twoHosts(t);
  const posted = await post(one);
  const lists = [await other.inbox.open(), await other.inbox.ofSession(PLACE, 10)].flat();
  assert.equal(lists.length, 2);
  for (const work of [posted, await one.inbox.get(posted.id), ...lists])
    assert.ok(JSON.stringify(work).length < 2_000);
  const begun = await one.inbox.begin(PLACE);
  assert.deepEqual([begun?.isAgain, begun?.work.request], [false, REQUEST]);
  await database.query(
    `update ${schema}.work set host = 'dead', claim_until = now() - interval '1 s' where id = $1`,
    [posted.id],
  );
  const again = await other.inbox.begin(PLACE);
  assert.deepEqual([again?.isAgain, again?.work.request], [true, REQUEST]);
});

test("images count for an idempotency key, and posts at the same time are all stored, in their order", async (t) => {
  const { one } = await twoHosts(t);
  const long: TurnWork = {
    prompt: "Look.",
    parts: [{ type: "image", data: "C".repeat(3_000_000), mimeType: "image/png" }],
  };
  const posted = await Promise.all([
    post(one, long),
    post(one, REQUEST, "key"),
    post(one, long),
    post(one, { prompt: "Hello." }),
  ]);
  assert.equal((await post(one, REQUEST, "key")).id, posted[1]?.id);
  await assert.rejects(post(one, long, "key"), { code: "idempotency_conflict" });
  assert.deepEqual(
    (await one.inbox.open()).map(({ id }) => id),
    posted.map(({ id }) => id),
  );
  assert.deepEqual((await one.inbox.begin(PLACE))?.work.request, long);
});
