/** What a request does does not grow with the number of sessions in the home. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { SessionStore } from "../../../packages/contract/src/session/store.ts";
import { openIndex } from "../../../packages/host/src/stores/files/index/index-db.ts";
import { openModelApiDatabase } from "../../../packages/server/src/model-api/database.ts";
import { removeSessionRows } from "../../../packages/server/src/model-api/erase-session.ts";
import { PrefixIndex } from "../../../packages/server/src/model-api/prefix-index.ts";
import { ConversationStore } from "../../../packages/server/src/model-api/responses/conversation-store.ts";
import { ResponseStore } from "../../../packages/server/src/model-api/responses/response-store.ts";
import { MOST_AT_ONCE } from "../../../packages/host/src/stores/files/index/folder-look.ts";
import { formatLine } from "../../../packages/host/src/stores/files/transcript/transcript-entry.ts";
import type { Database } from "../../../packages/core/src/data/sqlite.ts";
import { until } from "../../runner/until.ts";
import { openStore, sayTurn, temporaryFolder } from "./fixtures.ts";
import { countWork, type WorkCount } from "./work-count.ts";

const CWD = { cwd: "/project" };
const FEW = MOST_AT_ONCE + 22;
const MANY = 10 * FEW;

/** A transcript as another program may leave it. */
function place(dir: string, at: number, key = `key-${at}`): void {
  const id = (36 ** 8 + at).toString(36).padStart(16, "0");
  const header = {
    type: "session",
    version: 3,
    id,
    timestamp: "2026-01-01T00:00:00.000Z",
    key,
    generation: 1,
  } as const;
  writeFileSync(join(dir, "sessions", `${id}.jsonl`), formatLine({ ...header, ...CWD }));
  writeFileSync(join(dir, "sessions", `${id}.receipts.jsonl`), "");
}

/** A store with sessions that has been used: its folder was read once. */
function usedStore(t: TestContext, sessions: number): { dir: string; store: SessionStore } {
  const dir = temporaryFolder(t);
  mkdirSync(join(dir, "sessions"), { recursive: true });
  for (let at = 0; at < sessions; at++) place(dir, at);
  const store = openStore(dir);
  t.after(() => store.close());
  assert.equal(store.find("unknown"), undefined);
  use(store, "warm");
  return { dir, store };
}

function indexOf(dir: string): () => Database {
  return () => openIndex(join(dir, "sessions.db"));
}

/** A conversation with a turn. */
function use(store: SessionStore, key: string): void {
  const writer = store.openWriter(key, CWD);
  sayTurn(writer, `turn-${key}`, "Hello.");
  writer.close();
}

const REQUESTS: Record<string, (store: SessionStore) => void> = {
  "a search for an unknown key": (store) => void store.find("no-such"),
  "a search for a known key": (store) => void store.find("key-7"),
  "an empty session": (store) => void store.create("made", CWD),
  "the first turn of a session": (store) => use(store, "new"),
  "a further turn": (store) => use(store, "warm"),
  "a further generation": (store) => void store.renew("key-9", CWD),
  "a reader": (store) => store.openReader("key-8").close(),
};

test("no request runs more statements, reads more rows or looks at more files the more sessions there are", (t) => {
  const few = usedStore(t, FEW);
  const many = usedStore(t, MANY);
  for (const [what, request] of Object.entries(REQUESTS)) {
    const [one, other] = [few, many].map(({ dir, store }) => countWork(indexOf(dir), () => request(store)));
    assert.deepEqual(other, one, what);
    assert.deepEqual((other as WorkCount).scans, [], what);
  }
});

test("a transcript that another program puts beside many is found, and a search for its key does not wait for that", async (t) => {
  const { dir, store } = usedStore(t, FEW);
  place(dir, FEW, "theirs");
  const { names } = countWork(indexOf(dir), () => void store.find("theirs"));
  assert.equal(names, 0);
  await until(() => store.find("theirs") !== undefined);
});

test("the rows of a deleted session in the database of the model API are found without a look at others", (t) => {
  const home = temporaryFolder(t);
  const db = openModelApiDatabase(home);
  t.after(() => db.close());
  const index = new PrefixIndex(db);
  new ResponseStore(db);
  new ConversationStore(db);
  index.note("token", "one", ["a", "b"]);
  index.note("token", "other", ["a", "c"]);
  const open = (): Database => openModelApiDatabase(home);
  const { scans } = countWork(open, () => assert.equal(removeSessionRows(db, "one", Infinity), 3));
  assert.deepEqual(scans, []);
  assert.deepEqual(
    index.sessions().map(({ sessionKey }) => sessionKey),
    ["other"],
  );
});

test("a list runs as many statements for many sessions as for few", (t) => {
  const [few, many] = [FEW, 4 * FEW].map((sessions) => {
    const { dir, store } = usedStore(t, sessions);
    store.renew("key-3", CWD);
    const listed = store.list();
    // As each is found on its own.
    for (const { turnCount, generation, current, sessionKey } of listed
      .filter((each) => each.current)
      .slice(0, 20)) {
      const found = store.find(sessionKey);
      assert.deepEqual(
        [found?.turnCount, found?.generation, found?.current],
        [turnCount, generation, current],
      );
    }
    assert.deepEqual(
      listed
        .filter(({ sessionKey }) => sessionKey === "key-3")
        .map((each) => [each.generation, each.current]),
      [
        [2, true],
        [1, false],
      ],
    );
    return countWork(indexOf(dir), () => void store.list()).statements;
  });
  assert.equal(many, few);
});
