/** Work that was to join a turn: it joined where the transcript has its words besides the others of the turn. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Pagurus } from "../../packages/contract/src/host/host.ts";
import type { SessionStore } from "../../packages/contract/src/session/store.ts";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { Dispatcher } from "../../packages/inbox/src/dispatcher.ts";
import { localWork } from "../../packages/server/src/open-work.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import type { Work } from "../../packages/inbox/src/work.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { OWNER } from "../../packages/contract/src/host/authority.ts";
import type { PagurusHost } from "../../packages/contract/src/host/pagurus-host.ts";

const PLACE = { agentId: "main", sessionKey: "s" };

describe("work that was to join a turn which is over", () => {
  let home: string;
  let db: Database;
  let store: ReturnType<typeof localWork>;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "pagurus-steering-"));
    db = openServerDatabase(home);
    store = localWork(db);
  });
  afterEach(async () => {
    await store.close();
    db.close();
    rmSync(home, { recursive: true, force: true });
  });

  async function post(prompt: string): Promise<Work> {
    const asked = { ...PLACE, kind: "turn", request: { prompt }, policy: "steer" } as const;
    return (await store.inbox.post({ ...asked, origin: "test", authority: { ...OWNER, tokenId: "test" } }))
      .work;
  }

  /** What becomes of texts that were to join a turn with these inputs in its transcript; its prompt is the first. */
  async function settled(
    prompt: string,
    texts: readonly string[],
    inputs: readonly string[],
  ): Promise<string[]> {
    const turn = await post(prompt);
    await store.inbox.begin(PLACE);
    const steering: Work[] = [];
    for (const text of texts) steering.push(await post(text));
    for (const each of steering) await store.inbox.steers(each, turn.id);
    await store.inbox.ended(turn, { outcome: "completed" });
    const entries = inputs.map((text) => ({
      type: "message",
      turnId: turn.id,
      message: { role: "user", content: [{ type: "text", text }], timestamp: 0 },
    }));
    const backward = async function* (): AsyncGenerator<object> {
      yield* entries.toReversed();
    };
    const sessions = (): SessionStore =>
      ({ openReader: () => ({ cursor: { backward }, close: () => undefined }) }) as unknown as SessionStore;
    const pagurus = { sessions } as unknown as Pagurus;
    await new Dispatcher({
      ...store,
      host: pagurus as unknown as PagurusHost,
      logger: silentLogger,
      maxTurns: 0,
    }).start();
    const ends: string[] = [];
    for (const { id } of steering) {
      const { state, outcome } = await store.inbox.get(id);
      ends.push(outcome ?? state);
    }
    return ends;
  }

  it("joined it where its words are there, and waits for a turn of its own else", async () => {
    assert.deepEqual(await settled("Go.", ["One.", "Two."], ["Go.", "One."]), ["steered", "waiting"]);
  });

  it("did not join it where only the prompt has its words", async () => {
    assert.deepEqual(await settled("Go.", ["Go."], ["Go."]), ["waiting"]);
  });

  it("joined it where its words are there besides the prompt", async () => {
    assert.deepEqual(await settled("Go.", ["Go."], ["Go.", "Go."]), ["steered"]);
  });

  it("did not join it where only an earlier text has its words", async () => {
    assert.deepEqual(await settled("Go.", ["On.", "On."], ["Go.", "On."]), ["steered", "waiting"]);
  });
});
