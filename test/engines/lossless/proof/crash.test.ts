/** A kill between any two statements of a write: the write is complete or absent, and can be repeated. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import type { TranscriptEntry } from "../../../../packages/contract/src/session/transcript.ts";
import { connect } from "../../../../packages/lossless/src/store/open-database.ts";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../../packages/lossless/src/store/lossless-store.ts";
import type { NewNode } from "../../../../packages/lossless/src/store/store-types.ts";
import { verifyDatabase } from "../../../../packages/lossless/src/store/verify.ts";
import { chain, cursorOver, messageEntry } from "../store/fixtures.ts";
import { imagesOf } from "./images.ts";
import { FULL } from "../../../runner/short-form.ts";

/** Limit on the statements of a write at which a kill is checked in a normal run. */
const MOST_IMAGES = FULL ? Infinity : 12;

const PATH = chain(
  Array.from(
    { length: 12 },
    (_, index) => `word${index} the berth of ship ${index} ${"x".repeat(index * 90)}`,
  ),
);
const IMAGE = {
  type: "image" as const,
  data: Buffer.alloc(2_000, 3).toString("base64"),
  mimeType: "image/png",
};
const TURN: TranscriptEntry[] = [
  messageEntry("t0", "e11", { role: "user", content: [{ type: "text", text: "again" }, IMAGE] }),
  messageEntry("t1", "t0", {
    role: "assistant",
    content: [{ type: "toolCall", id: "c", name: "read", arguments: { path: "/a" } }],
  }),
  messageEntry("t2", "t1", {
    role: "toolResult",
    toolCallId: "c",
    toolName: "read",
    content: [{ type: "text", text: "word3 the berth" }],
    isError: false,
  }),
  messageEntry("t3", "t2", { role: "assistant", content: [{ type: "text", text: "done" }] }),
];
/** The path from the fourth entry on, rewritten with other texts. */
const REWRITTEN: TranscriptEntry[] = PATH.slice(4).map((entry, index) =>
  messageEntry(`r${index}`, index === 0 ? "e3" : `r${index - 1}`, index === 0 ? "corrected" : entry.message, {
    supersedes: entry.id,
  }),
);

function node(nodeId: string, first: string, last: string, children: readonly string[] = []): NewNode {
  return {
    nodeId,
    sessionId: "s",
    kind: children.length > 0 ? "condensed" : "leaf",
    depth: children.length > 0 ? 1 : 0,
    firstEntryId: first,
    lastEntryId: last,
    children,
    text: `Goal: summary ${nodeId}. `.repeat(40),
    tokens: 100,
    sourceTokens: 1_000,
    origin: "extractive",
    state: "prepared",
  };
}

function publish(store: LosslessStore, version: number): void {
  store.transaction(() => {
    const parts = [node("n0", "e0", "e3"), node("n1", "e4", "e7"), node("n2", "e0", "e7", ["n0", "n1"])];
    for (const part of parts) store.addNode(part);
    store.publishFrontier("s", version, { nodeIds: ["n2"], firstKeptEntryId: "e8", details: { head: "h" } });
    store.putDebt({ ...DEBT, debtId: "dn2" });
  });
}

const DEBT = {
  debtId: "d1",
  sessionId: "s",
  firstEntryId: "e0",
  lastEntryId: "e3",
  attempts: 1,
  nextAt: 5,
  errorCode: "model_failed",
};
const LEASE = { leaseId: "l1", owner: "one", now: 1_000, ttlMs: 500, sessionId: "s" };

interface Write {
  /** Sets up the store before the write. */
  before?(store: LosslessStore): void;
  make(store: LosslessStore): unknown;
  /** True for a write of several transactions: an interrupted one is complete only after a repeat. */
  steps?: boolean;
}

const WRITES: Record<string, Write> = {
  "a turn": { make: (store) => store.ingestTurn("s", TURN) },
  "the first turn of a session": { make: (store) => store.ingestTurn("new", chain(["one", "two"], "n")) },
  "a rewind": { make: (store) => store.moveLeaf("s", "e5") },
  "a branch that a rewrite made": {
    make: (store) => store.adopt("s", cursorOver([...PATH.slice(0, 4), ...REWRITTEN])),
    steps: true,
  },
  "an adoption of a few entries": {
    make: (store) => store.adopt("s", cursorOver([...PATH, ...TURN])),
    steps: true,
  },
  "a fork": {
    make: (store) => store.adopt("fork", cursorOver(PATH.slice(0, 6)), { sessionKey: "child" }),
    steps: true,
  },
  "summaries and their frontier": { make: (store) => publish(store, store.frontier("s").version) },
  "a debt": { make: (store) => store.putDebt(DEBT) },
  "a debt that is paid": { before: (store) => store.putDebt(DEBT), make: (store) => store.settleDebt("d1") },
  "a lease": { make: (store) => store.takeLease(LEASE) },
  "a lease that another takes over": {
    before: (store) => void store.takeLease(LEASE),
    make: (store) => store.takeLease({ ...LEASE, owner: "two", now: 2_000 }),
  },
  "a pin": { make: (store) => store.pin("s", { entryId: "e2", pinnedAt: 7, note: "keep" }) },
  "a pin that is taken away": {
    before: (store) => void store.pin("s", { entryId: "e2", pinnedAt: 7 }),
    make: (store) => store.unpin("s", "e2"),
  },
  "what a model call cost": {
    make: (store) => store.addSpend({ sessionId: "s", at: 9, calls: 1, tokens: 5, cost: 0.1 }),
  },
  "the engine's own state": {
    make: (store) => store.setSessionState("s", { keys: ["turn1"], volatile: [] }),
  },
};

/** The complete visible state, as one string. */
function stateOf(store: LosslessStore): string {
  const sessions = store.sessions();
  const entries = sessions.map(({ sessionId }) => {
    const path = store.walkBack(sessionId, { kinds: ["message", "compaction", "custom"] }).items;
    return path.map(({ entryId }) => [entryId, store.getJson(entryId, sessionId)]);
  });
  const ids = ["n0", "n1", "n2"];
  return JSON.stringify({
    sessions,
    entries,
    nodes: ids.map((id) => ({ ...store.node(id), order: 0 })),
    frontiers: sessions.map(({ sessionId }) => store.frontier(sessionId)),
    states: sessions.map(({ sessionId }) => store.sessionState(sessionId)),
    pins: sessions.map(({ sessionId }) => store.pins(sessionId)),
    debts: store.debts(),
    leases: leasesOf(store),
    spent: store.spentSince(0),
  });
}

/** Reads leases directly, since the store has no method that reads one without taking it. */
function leasesOf({ file }: LosslessStore): unknown[] {
  const raw = new DatabaseSync(file);
  try {
    return raw.prepare("SELECT * FROM leases ORDER BY id").all();
  } finally {
    raw.close();
  }
}

/** The first and the last image, and evenly distributed ones between them. */
function spread(folders: readonly string[]): string[] {
  if (folders.length <= MOST_IMAGES) return [...folders];
  const step = (folders.length - 1) / (MOST_IMAGES - 1);
  return Array.from({ length: MOST_IMAGES }, (_, index) => folders[Math.round(index * step)] ?? "");
}

function assertWhole(folder: string): void {
  const db = connect(join(folder, "lossless.db"));
  try {
    assert.deepEqual(verifyDatabase(db).problems, []);
  } finally {
    db.close();
  }
}

async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "lossless-crash-"));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function checkImage(
  folder: string,
  write: Write,
  states: { before: string; after: string },
): Promise<void> {
  assertWhole(folder);
  const store = openLosslessStore(folder);
  try {
    const now = stateOf(store);
    const isWhole = now === states.before || now === states.after;
    assert.ok(
      isWhole || write.steps === true,
      `neither before nor after:\n${now}\n${states.before}\n${states.after}`,
    );
    for (const entry of PATH) assert.equal(store.getJson(entry.id, "s"), JSON.stringify(entry.message));
    if (now !== states.after) {
      await write.make(store);
      assert.equal(stateOf(store), states.after, "made again it is not what it was to be");
    }
  } finally {
    await store.close();
  }
  assertWhole(folder);
}

async function checkWrite(t: TestContext, write: Write): Promise<void> {
  await withFolder(async (folder) => {
    const store = openLosslessStore(folder);
    store.ingestTurn("s", PATH);
    write.before?.(store);
    const before = stateOf(store);
    const images = await imagesOf(t, folder, () => write.make(store));
    const after = stateOf(store);
    await store.close();
    try {
      assert.notEqual(after, before);
      assert.ok(images.folders.length > 0, "nothing was written");
      for (const image of spread(images.folders)) await checkImage(image, write, { before, after });
    } finally {
      images.remove();
    }
  });
}

for (const [name, write] of Object.entries(WRITES))
  test(`a kill at any statement while writing ${name} leaves all of it or nothing`, (t) =>
    checkWrite(t, write));

test("a kill at any statement while creating a database leaves one that opens and works", async (t) => {
  await withFolder(async (folder) => {
    let made: LosslessStore | undefined;
    const images = await imagesOf(t, folder, () => {
      made = openLosslessStore(folder);
    });
    await made?.close();
    try {
      assert.ok(images.folders.length > 5);
      for (const image of images.folders) {
        const store = openLosslessStore(image);
        assert.ok(store.notices.every(({ kind }) => kind === "created"));
        store.ingestTurn("s", PATH);
        assert.equal(store.walkBack("s").items.length, PATH.length);
        await store.close();
        assertWhole(image);
      }
    } finally {
      images.remove();
    }
  });
});
