import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openLosslessStore } from "../../../../packages/lossless/src/store/lossless-store.ts";
import type { NewNode } from "../../../../packages/lossless/src/store/store-types.ts";
import { chain, withStore } from "./fixtures.ts";

function node(nodeId: string, first: number, last: number, extra: Partial<NewNode> = {}): NewNode {
  return {
    nodeId,
    sessionId: "s",
    kind: "leaf",
    depth: 0,
    firstEntryId: `e${first}`,
    lastEntryId: `e${last}`,
    children: [],
    text: `Goal: ${nodeId}.\nDone: much.`,
    tokens: 10,
    sourceTokens: 100,
    origin: "model",
    model: "p/m",
    state: "prepared",
    details: { files: ["a.ts"] },
    ...extra,
  };
}

describe("summaries", () => {
  it("are returned unchanged, once for each id", async () => {
    await withStore((store) => {
      store.ingestTurn("s", chain(["a", "b", "c", "d"]));
      const leaf = node("n1", 0, 1);
      assert.equal(store.addNode(leaf), true);
      assert.equal(store.addNode(leaf), false);
      assert.equal(store.addNode(node("n2", 2, 3)), true);
      const condensed = node("n3", 0, 3, { kind: "condensed", depth: 1, children: ["n1", "n2"] });
      store.addNode(condensed);
      assert.deepEqual(store.node("n1"), { ...leaf, order: 1 });
      assert.deepEqual(store.node("n3"), { ...condensed, order: 3 });
      assert.deepEqual(
        store.nodeParents("n2").map(({ nodeId }) => nodeId),
        ["n3"],
      );
      assert.deepEqual(
        store.nodes("s", { depth: 0, state: "prepared" }).map(({ nodeId }) => nodeId),
        ["n1", "n2"],
      );
      assert.throws(() => store.addNode(node("n4", 0, 9)), { code: "entry_not_found" });
    });
  });

  it("are published by compare and swap", async () => {
    await withStore((store, folder) => {
      store.ingestTurn("s", chain(["a", "b", "c", "d"]));
      store.addNode(node("n1", 0, 1));
      store.addNode(node("n2", 2, 2));
      store.addNode(node("n3", 0, 2, { kind: "condensed", depth: 1, children: ["n1", "n2"] }));
      assert.deepEqual(store.frontier("s"), { version: 0, nodeIds: [], firstKeptEntryId: null });
      const first = { nodeIds: ["n1", "n2"], firstKeptEntryId: "e3", details: { epoch: "x" } };
      const other = openLosslessStore(folder);
      assert.equal(other.publishFrontier("s", 0, first), true);
      assert.equal(store.publishFrontier("s", 0, { nodeIds: ["n3"], firstKeptEntryId: "e3" }), false);
      assert.deepEqual(store.frontier("s"), { version: 1, ...first });
      assert.equal(store.publishFrontier("s", 1, { nodeIds: ["n3"], firstKeptEntryId: "e3" }), true);
      assert.deepEqual(other.frontier("s"), { version: 2, nodeIds: ["n3"], firstKeptEntryId: "e3" });
      assert.deepEqual(
        ["n1", "n2", "n3"].map((id) => store.node(id)?.state),
        ["replaced", "replaced", "published"],
      );
      assert.throws(() => store.publishFrontier("s", 2, { nodeIds: ["no"], firstKeptEntryId: "e3" }), {
        code: "entry_not_found",
      });
      assert.equal(store.frontier("s").version, 2);
      return other.close();
    });
  });

  it("of an origin can be in the frontier of its fork too", async () => {
    await withStore((store) => {
      const path = chain(["a", "b", "c"]);
      store.ingestTurn("s", path);
      store.ingestTurn("fork", path);
      store.addNode(node("n1", 0, 1));
      store.publishFrontier("s", 0, { nodeIds: ["n1"], firstKeptEntryId: "e2" });
      store.publishFrontier("fork", 0, { nodeIds: ["n1"], firstKeptEntryId: "e2" });
      store.publishFrontier("s", 1, { nodeIds: [], firstKeptEntryId: null });
      assert.equal(store.node("n1")?.state, "published");
    });
  });
});

describe("a debt", () => {
  it("is listed by its next attempt until it is settled", async () => {
    await withStore((store) => {
      store.openSession("s");
      const debt = {
        debtId: "d",
        sessionId: "s",
        firstEntryId: "e0",
        lastEntryId: "e1",
        attempts: 1,
        nextAt: 50,
      };
      store.putDebt({ ...debt, errorCode: "model_unavailable" });
      store.putDebt({ ...debt, debtId: "later", nextAt: 90, details: { kind: "leaf" } });
      assert.deepEqual(store.debts({ sessionId: "s", dueAt: 60 }), [
        { ...debt, errorCode: "model_unavailable" },
      ]);
      store.putDebt({ ...debt, attempts: 2, nextAt: 200 });
      assert.deepEqual(
        store.debts().map(({ debtId, attempts }) => [debtId, attempts]),
        [
          ["later", 1],
          ["d", 2],
        ],
      );
      assert.equal(store.settleDebt("d"), true);
      assert.equal(store.settleDebt("d"), false);
    });
  });

  it("is worked on by one owner until the lease expires", async () => {
    await withStore((store) => {
      const request = { leaseId: "l", owner: "one", now: 1_000, ttlMs: 100 };
      assert.equal(store.takeLease(request), true);
      assert.equal(store.takeLease({ ...request, owner: "two" }), false);
      assert.equal(store.takeLease({ ...request, now: 1_050 }), true);
      assert.equal(store.takeLease({ ...request, owner: "two", now: 1_150 }), true);
      assert.equal(store.releaseLease("l", "one"), false);
      assert.equal(store.releaseLease("l", "two"), true);
      assert.equal(store.takeLease(request), true);
    });
  });

  it("has its cost added up by time and session", async () => {
    await withStore((store) => {
      store.openSession("s");
      store.openSession("t");
      store.addSpend({ sessionId: "s", at: 10, calls: 1, tokens: 100, cost: 0.5 });
      store.addSpend({ sessionId: "s", at: 20, calls: 2, tokens: 200, cost: 0.25 });
      store.addSpend({ sessionId: "t", at: 30, calls: 1, tokens: 1, cost: 0 });
      assert.deepEqual(store.spentSince(15), { calls: 3, tokens: 201, cost: 0.25 });
      assert.deepEqual(store.spentSince(0, "s"), { calls: 3, tokens: 300, cost: 0.75 });
    });
  });
});

describe("pins, state and values", () => {
  it("survive the next opening", async () => {
    await withStore(async (store, folder) => {
      store.ingestTurn("s", chain(["a", "b"]));
      assert.equal(store.pin("s", { entryId: "e1", pinnedAt: 2, note: "keep" }), true);
      assert.equal(store.pin("s", { entryId: "e0", pinnedAt: 1 }), true);
      assert.equal(store.pin("s", { entryId: "e0", pinnedAt: 3 }), false);
      store.setSessionState("s", { ignored: true });
      store.setMeta("engine", "1");
      const again = openLosslessStore(folder);
      assert.deepEqual(again.pins("s"), [
        { entryId: "e0", pinnedAt: 1 },
        { entryId: "e1", pinnedAt: 2, note: "keep" },
      ]);
      assert.deepEqual(again.sessionState("s"), { ignored: true });
      assert.equal(again.meta("engine"), "1");
      assert.equal(again.unpin("s", "e0"), true);
      assert.equal(again.unpin("s", "e0"), false);
      await again.close();
    });
  });

  it("can be written in one transaction", async () => {
    await withStore((store) => {
      assert.throws(() =>
        store.transaction(() => {
          store.ingestTurn("s", chain(["a"]));
          store.setMeta("engine", "1");
          throw new Error("no");
        }),
      );
      assert.equal(store.session("s"), undefined);
      assert.equal(store.meta("engine"), undefined);
    });
  });
});
