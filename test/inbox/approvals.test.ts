/** Permission questions of a piece of work: each call has its own, also where the model gives calls the same id. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import type { PermissionAnswer } from "../../packages/contract/src/host/run.ts";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { localWork } from "../../packages/server/src/open-work.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import type { Work } from "../../packages/inbox/src/work.ts";
import { OWNER } from "../../packages/contract/src/host/authority.ts";

const PLACE = { agentId: "main", sessionKey: "s" };
const QUESTION = { toolName: "shell", summary: "npm test", cwd: "/", toolCallId: "call_0" };

describe("permission questions", () => {
  let home: string;
  let db: Database;
  let store: ReturnType<typeof localWork>;
  let work: Work;
  let stop: AbortController;
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "pagurus-approvals-"));
    db = openServerDatabase(home);
    store = localWork(db);
    stop = new AbortController();
    await store.inbox.post({
      ...PLACE,
      kind: "turn",
      request: { prompt: "Test it." },
      policy: "queue",
      origin: "test",
      authority: { ...OWNER, tokenId: "test" },
    });
    await begin();
  });
  afterEach(async () => {
    await store.close();
    db.close();
    rmSync(home, { recursive: true, force: true });
  });

  async function begin(): Promise<void> {
    const begun = await store.inbox.begin(PLACE);
    assert.ok(begun);
    work = begun.work;
  }

  /** The process ends, and another one continues the work. */
  async function restart(): Promise<void> {
    await store.events.flush();
    store = localWork(db);
    await begin();
  }

  const ask = (sessionKey: string = PLACE.sessionKey): Promise<PermissionAnswer> =>
    store.approvals.ask(work, { ...QUESTION, sessionKey, signal: stop.signal });

  const open = async (): Promise<string[]> => (await store.approvals.open()).map(({ id }) => id);

  async function answer(what: PermissionAnswer): Promise<void> {
    const [id = ""] = await open();
    await store.approvals.answer(id, what, "me");
  }

  function completed(): void {
    const { toolCallId, toolName } = QUESTION;
    const data = { toolCallId, toolName, outcome: { content: [], isError: false } };
    store.events.add({ workId: work.id, ...PLACE, type: "tool.completed", data });
  }

  it("of two subagents with equal calls are two, and each gets its answer", async () => {
    const both = Promise.all([ask("s/sub-1"), ask("s/sub-2")]);
    assert.equal((await open()).length, 2);
    await answer("once");
    await answer("deny");
    assert.deepEqual(await open(), []);
    assert.deepEqual(new Set(await both), new Set(["once", "deny"]));
  });

  it("of a later call with the same id and words are asked for themselves", async () => {
    for (const what of ["once", "deny", "once"] as const) {
      const answered = ask();
      assert.equal((await open()).length, 1);
      await answer(what);
      assert.equal(await answered, what);
      completed();
    }
  });

  it("of two calls at once with the same id and words are two", async () => {
    const both = Promise.all([ask(), ask()]);
    assert.equal((await open()).length, 2);
    await answer("once");
    await answer("once");
    assert.deepEqual(await both, ["once", "once"]);
  });

  it("keep their ids when the work is continued, and get an answer that came meanwhile", async () => {
    const first = ask();
    await answer("once");
    await first;
    completed();
    void ask();
    const asked = await open();
    await restart();
    void ask();
    assert.deepEqual(await open(), asked, "the open one is asked again");
    await restart();
    await answer("deny");
    assert.equal(await ask(), "deny", "it was answered while nothing ran");
    completed();
    await restart();
    void ask();
    await turnOfLoop();
    assert.equal((await open()).length, 1, "the answer was used, so the next call asks");
  });

  it("are asked again where a crash cut off the call that an answer allowed, and the model answered since", async () => {
    const first = ask();
    await answer("once");
    assert.equal(await first, "once");
    await restart();
    const data = { message: { role: "assistant", content: [], timestamp: 0 } };
    store.events.add({ workId: work.id, ...PLACE, type: "message", data });
    void ask();
    assert.equal((await open()).length, 1);
  });

  it("that a try of the turn left open are asked again by its next try", async () => {
    const first = ask();
    const asked = await open();
    stop.abort();
    assert.equal(await first, "deny");
    stop = new AbortController();
    const second = ask();
    assert.deepEqual(await open(), asked);
    await answer("once");
    assert.equal(await second, "once");
  });
});
