/** Images of work: stored once, read when it begins, removed with it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { OWNER } from "../../packages/contract/src/host/authority.ts";
import type { PagurusHost } from "../../packages/contract/src/host/pagurus-host.ts";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { Dispatcher } from "../../packages/inbox/src/dispatcher.ts";
import { localWork } from "../../packages/server/src/open-work.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import type { TurnWork, Work } from "../../packages/inbox/src/work.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";

const PLACE = { agentId: "main", sessionKey: "s" };
const DATA = "A".repeat(50_000);
const REQUEST: TurnWork = {
  prompt: "Look.",
  parts: [
    { type: "text", text: "First:" },
    { type: "image", data: DATA, mimeType: "image/png" },
    { type: "image", data: "BBBB", mimeType: "image/png" },
  ],
};

describe("the images of work", () => {
  let home: string;
  let db: Database;
  let store: ReturnType<typeof localWork>;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-images-"));
    db = openServerDatabase(home);
    store = localWork(db);
  });
  afterEach(async () => {
    await store.close();
    db.close();
    rmSync(home, { recursive: true, force: true });
  });

  async function post(request: TurnWork = REQUEST): Promise<Work> {
    const asked = { ...PLACE, kind: "turn", request, policy: "queue", origin: "test" } as const;
    return (await store.inbox.post({ ...asked, authority: { ...OWNER, tokenId: "test" } })).work;
  }

  const count = (): number | undefined => db.get<{ n: number }>("SELECT count(*) AS n FROM work_images")?.n;

  it("are not in the row that each change of its state writes again, nor in lists", async () => {
    const { id } = await post();
    const row = db.get<{ n: number }>("SELECT length(request) AS n FROM work WHERE id = ?", id);
    assert.ok((row?.n ?? Infinity) < 1_000, `${row?.n} characters`);
    for (const work of [await store.inbox.get(id), ...(await store.inbox.ofSession(PLACE, 10))])
      assert.ok(JSON.stringify(work).length < 2_000);
  });

  it("are in databases of a version that other programs refuse: an older one would begin the work without them", () => {
    assert.equal(db.version(), 2);
    for (const other of [1, 3]) {
      db.raw.exec(`PRAGMA user_version = ${other}`);
      assert.throws(() => openServerDatabase(home), {
        code: "store_read_failed",
        message: new RegExp(
          `has the schema version ${other}, and this Pagurus knows 2; use the Pagurus that wrote it`,
        ),
      });
    }
    db.raw.exec("PRAGMA user_version = 2");
  });

  it("are in the work that begins, also again after a crash", async () => {
    await post();
    for (const isAgain of [false, true]) {
      const begun = await store.inbox.begin(PLACE);
      assert.equal(begun?.isAgain, isAgain);
      assert.deepEqual(begun?.work.request, REQUEST);
    }
  });

  it("count for an idempotency key", async () => {
    const asked = { ...PLACE, kind: "turn", policy: "queue", origin: "test", idempotencyKey: "key" } as const;
    const authority = { ...OWNER, tokenId: "test" };
    await store.inbox.post({ ...asked, authority, request: REQUEST });
    const again = await store.inbox.post({ ...asked, authority, request: REQUEST });
    assert.equal(again.isNew, false);
    const other = { ...REQUEST, parts: [{ type: "image", data: "CCCC", mimeType: "image/png" }] } as TurnWork;
    await assert.rejects(store.inbox.post({ ...asked, authority, request: other }), {
      code: "idempotency_conflict",
    });
  });

  it("are removed with the work", async () => {
    const work = await post();
    await store.inbox.ended(work, { outcome: "completed" });
    assert.equal(count(), 2);
    await store.inbox.forget(PLACE);
    assert.equal(count(), 0);
  });

  it("leave others a turn of the event loop between the start of the work and its turn", async () => {
    const order: string[] = [];
    const { inbox } = store;
    const begin: typeof inbox.begin = (place) => {
      setImmediate(() => order.push("others"));
      return inbox.begin(place);
    };
    const watched = new Proxy(inbox, {
      get: (target, name) => {
        const member: unknown = name === "begin" ? begin : Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
    const run = async function* (): AsyncGenerator<object> {
      order.push("turn");
      yield { type: "turn.completed", stopReason: "stop" };
    };
    const host = { as: () => ({ run }), sessions: () => undefined } as unknown as PagurusHost;
    const parts = { ...store, inbox: watched, host, logger: silentLogger, maxTurns: 1 };
    const dispatcher = new Dispatcher(parts);
    await dispatcher.post({
      ...PLACE,
      kind: "turn",
      request: REQUEST,
      policy: "queue",
      origin: "test",
      authority: { ...OWNER, tokenId: "test" },
    });
    await dispatcher.stop(10_000);
    assert.deepEqual(order.slice(0, 2), ["others", "turn"]);
  });
});
