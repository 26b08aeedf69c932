/** Events while the server's database cannot be written: none is lost, and the process stays. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { localWork } from "../../packages/server/src/open-work.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import type { NewWork, Work } from "../../packages/inbox/src/work.ts";
import { silentLogger, type LogFields } from "../../packages/core/src/platform/log.ts";
import { OWNER } from "../../packages/contract/src/host/authority.ts";
import { TestClock } from "../runner/test-clock.ts";

const SECRET = "what the model wrote";

describe("events while the database cannot be written", () => {
  let home: string;
  let db: Database;
  let store: ReturnType<typeof localWork>;
  let clock: TestClock;
  let lines: { message: string; fields: LogFields | undefined }[];
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-events-"));
    db = openServerDatabase(home);
    lines = [];
    const error = (message: string, fields?: LogFields): void => void lines.push({ message, fields });
    clock = new TestClock();
    store = localWork(db, { ...silentLogger, error }, clock);
  });
  afterEach(async () => {
    await store.close();
    db.close();
    rmSync(home, { recursive: true, force: true });
  });

  const workOf = (sessionKey: string, kind: "turn" | "command"): NewWork => ({
    agentId: "main",
    sessionKey,
    kind,
    request: kind === "turn" ? { prompt: "Hello." } : { name: "x", args: "" },
    policy: "queue",
    origin: "test",
    authority: { ...OWNER, tokenId: "test" },
  });

  async function begun(sessionKey: string, kind: "turn" | "command"): Promise<Work> {
    const { work } = await store.inbox.post(workOf(sessionKey, kind));
    await store.inbox.begin(work);
    return work;
  }

  function add({ id: workId, agentId, sessionKey }: Work, type: string): void {
    store.events.add({ workId, agentId, sessionKey, type, data: { delta: SECRET } });
  }

  const typesOf = async ({ id: workId }: Work): Promise<string[]> =>
    (await store.events.after(0, { workId })).map(({ type }) => type);

  function fill(condition = "1"): void {
    db.raw.exec(
      `CREATE TRIGGER full BEFORE INSERT ON events WHEN ${condition}
       BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`,
    );
  }

  it("stores what a tool adds that is no JSON without it, and the events of others", async () => {
    const [one, other] = [await begun("one", "turn"), await begun("other", "turn")];
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    for (const data of [{ rows: 10n }, circle]) {
      const { id: workId, agentId, sessionKey } = one;
      store.events.add({ workId, agentId, sessionKey, type: "tool.completed", data });
    }
    add(other, "text.delta");
    await store.inbox.ended(one, { outcome: "completed" });
    assert.deepEqual(
      (await store.events.after(0, { workId: one.id }))
        .filter(({ type }) => type === "tool.completed")
        .map(({ data }) => data),
      [{ rows: "10" }, {}],
    );
    assert.ok((await typesOf(other)).includes("text.delta"));
    assert.ok((await typesOf(one)).includes("work.ended"));
  });

  it("keep what came before an end that was not stored, for its next try", async () => {
    const work = await begun("a", "command");
    add(work, "command.output");
    fill("new.type = 'work.ended'");
    assert.throws(() => store.inbox.ended(work, { outcome: "completed" }), /disk is full/);
    db.raw.exec("DROP TRIGGER full");
    assert.equal(await store.inbox.ended(work, { outcome: "completed" }), true);
    assert.deepEqual(await typesOf(work), ["work.accepted", "work.started", "command.output", "work.ended"]);
  });

  it("keep what other sessions added when a post is undone, and wake their readers", async () => {
    const work = await begun("a", "turn");
    const stop = new AbortController();
    const read: string[] = [];
    const reading = (async () => {
      for await (const { type } of store.events.follow(0, { workId: work.id }, stop.signal)) read.push(type);
    })();
    const refused = store.inbox.post(workOf("b", "turn"), () => {
      throw new Error("cannot write");
    });
    add(work, "message");
    await assert.rejects(refused, { code: "store_write_failed" });
    for (let turn = 0; turn < 5; turn++) await turnOfLoop();
    stop.abort();
    await reading;
    assert.deepEqual(read, ["work.accepted", "work.started", "message"]);
    assert.equal(lines.length, 0);
  });

  it("are tried again, and the log has ids and counts alone", async () => {
    const work = await begun("a", "turn");
    fill();
    add(work, "text.delta");
    await turnOfLoop();
    await turnOfLoop();
    add(work, "message");
    assert.deepEqual(
      lines.map(({ message, fields }) => [message, fields?.["events"], fields?.["works"]]),
      [["events not stored", 1, work.id]],
    );
    assert.ok(!JSON.stringify(lines).includes(SECRET));
    db.raw.exec("DROP TRIGGER full");
    clock.move(500);
    assert.deepEqual(await typesOf(work), ["work.accepted", "work.started", "text.delta", "message"]);
  });
});
