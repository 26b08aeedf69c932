/** Line "honesty": a misbehaving summarizer only costs its summaries, is reported, and is caught up with when it recovers. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setImmediate as rest, setTimeout as pause } from "node:timers/promises";
import {
  openLosslessStore,
  type LosslessStore,
} from "../../../../packages/lossless/src/store/lossless-store.ts";
import type { SummaryNode } from "../../../../packages/lossless/src/store/store-types.ts";
import { filler } from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import { estimateTokens } from "../../../../packages/core/src/tokens/estimate.ts";
import type { ReplyStep } from "../../../servers/script.ts";
import type { WireBody } from "../../../turn/wire-bodies.ts";
import { Harbour, goodSummary } from "./harbour.ts";
import { assertPartition } from "./partition.ts";
import { FULL } from "../../../runner/short-form.ts";
import { longTest } from "../../../runner/long-tests.ts";

const SETTINGS = { trigger: 7_000, headTokens: 1_400, tailTokens: 1_500 };
/** Text of a misbehaving summarizer, which must never be stored. */
const LIE = "the-harbour-burned-down";

const BAD: Record<string, (body: WireBody) => ReplyStep> = {
  fails: () => ({ status: 400, errorBody: { error: { message: `bad request ${LIE}` } } }),
  "answers nothing": () => ({ text: "  " }),
  "writes too much": (body) => ({ text: `${goodSummary(body, LIE)}\n${filler(40_000)}` }),
  refuses: () => ({ text: `I cannot help with ${LIE}.`, stop: "refused" }),
  "refuses in plain words": () => ({ text: `I'm sorry, but I can't summarize that. ${LIE}` }),
  "is cut by its length": (body) => ({ text: goodSummary(body, LIE), stop: "length" }),
  "stops half way": (body) => ({ text: goodSummary(body, LIE).split("## Decisions")[0] ?? "" }),
  "calls a tool": () => ({
    text: `Let me look. ${LIE}`,
    toolCalls: [{ id: "x", name: "read", arguments: {} }],
  }),
  "breaks off": (body) => ({ text: goodSummary(body, LIE), chunkSize: 40, cutAfterChunks: 4 }),
};

async function withStore<T>(
  harbour: Harbour,
  look: (store: LosslessStore, sessionId: string) => T,
): Promise<T> {
  const store = openLosslessStore(join(harbour.bench.root, "home", "agents", "main"));
  try {
    return look(store, harbour.pagurus.sessions().find("main")?.sessionId ?? "");
  } finally {
    await store.close();
  }
}

/** Asserts that a node's text comes from one of the two summarizers. */
function assertHonest(node: SummaryNode, answers: ReadonlySet<string>, transcript: string): void {
  assert.ok(node.text.trim() !== "", `${node.nodeId} is empty`);
  if (node.origin === "model") {
    assert.ok(answers.has(node.text), `${node.nodeId} is no whole answer:\n${node.text.slice(0, 400)}`);
    assert.equal(node.model, "test/model");
    return;
  }
  assert.equal(node.origin, "extractive");
  assert.ok(!node.text.includes(LIE), `${node.nodeId} repeats what was refused`);
  assert.ok(!transcript.includes(node.text), `${node.nodeId} is a piece of the transcript`);
  assert.match(node.text, /^## /, `${node.nodeId} is no extract`);
}

/** The part of an answer that a summary keeps: files and exact strings are collected by code. */
function kept(answer: string): string {
  const end = answer.search(/^## (?:Files touched|Exact identifiers)\s*$/m);
  return (end < 0 ? answer : answer.slice(0, end)).trim();
}

/** Asserts that the context's text of each part is the store's. */
function assertHead(store: LosslessStore, head: string): void {
  for (const part of head.split(/^### Part /m).slice(1)) {
    const id = /^\S+/.exec(part)?.[0] ?? "";
    const text = store.node(id)?.text;
    assert.ok(text !== undefined, `the context names the part ${id}, which nobody made`);
    const [, ...lines] = part.split(/^#{1,2} /m)[0]?.split("\n") ?? [];
    const known = text.replaceAll(/^## /gm, "#### ").split("\n");
    for (const line of lines)
      assert.ok(line === "" || known.includes(line), `the part ${id} does not say "${line}":\n${text}`);
  }
}

interface Answers {
  /** Whole answers of the summarizer while it behaves. */
  answers: Set<string>;
}

async function assertStored(harbour: Harbour, valid: Answers): Promise<SummaryNode[]> {
  return withStore(harbour, (store, sessionId) => {
    const path = store.walkBack(sessionId).items;
    const transcript = path.map(({ message }) => JSON.stringify(message)).join("\n");
    const nodes = store.nodes(sessionId);
    assertHead(store, harbour.head() ?? "");
    for (const node of nodes) {
      assertHonest(node, valid.answers, transcript);
      assert.ok(estimateTokens(node.text) < node.sourceTokens, `${node.nodeId} is longer than its source`);
    }
    assert.ok(assertPartition(store, sessionId) > 0, "nothing is summarized");
    return nodes;
  });
}

function assertContexts(harbour: Harbour): void {
  assert.deepEqual(harbour.problems.slice(0, 5), []);
  assert.ok(harbour.compactions.length > 1, `${harbour.compactions.length} compactions`);
  assert.deepEqual(
    harbour.compactions.filter((how) => how.startsWith("failed")),
    [],
  );
  assert.ok(!(harbour.head() ?? "").includes(LIE), "the context says what was refused");
  assert.ok(harbour.head() !== undefined, "the summarized past is not in the context");
}

async function debtsOf(
  harbour: Harbour,
): Promise<{ count: number; attempts: number; nextAt?: string; errorCode?: string }> {
  const { engine } = await harbour.pagurus.status();
  const debts = engine.state?.debts;
  assert.ok(debts, engine.stateProblem ?? "status says nothing of debts");
  return debts;
}

function behave(harbour: Harbour, valid: Answers): void {
  harbour.summarize = (body) => {
    const text = goodSummary(body, `The berths are looked after, part ${harbour.asked}.`);
    valid.answers.add(kept(text));
    return { text };
  };
}

/** Pays debts a few at a time, with backoff between attempts. */
async function recover(t: TestContext, harbour: Harbour, valid: Answers): Promise<void> {
  behave(harbour, valid);
  for (let run = 0; run < 60 && (await debtsOf(harbour)).count > 0; run += 1) {
    t.mock.timers.tick(7 * 3_600_000);
    await harbour.pagurus.maintain({});
  }
  assert.deepEqual(await debtsOf(harbour), { count: 0, attempts: 0 });
}

/** Runs turns with a misbehaving summarizer: its text is not kept, and the debts are reported. */
async function misbehave(
  harbour: Harbour,
  valid: Answers,
  bad: (body: WireBody) => ReplyStep,
  turns: number,
): Promise<void> {
  harbour.summarize = bad;
  const { asked } = harbour;
  await harbour.work(harbour.turns, turns);
  await harbour.pagurus.maintain({});
  assert.ok(harbour.asked > asked, "no summary was asked for");
  const owed = await debtsOf(harbour);
  assert.ok(owed.count > 0 && owed.attempts > 0, "no debt or no attempt is reported");
  assert.match(owed.errorCode ?? "", /^(?:model_\w+|compaction_failed)$/);
  // The newest failure backs off; the next attempt is reported when none is due now.
  const failed = await withStore(harbour, (store) => store.debts().filter(({ attempts }) => attempts > 0));
  assert.ok(failed.some(({ nextAt }) => nextAt > Date.now()));
  assert.ok(owed.nextAt === undefined || Date.parse(owed.nextAt) > Date.now());
  await assertStored(harbour, valid);
  assert.deepEqual(harbour.problems.slice(0, 5), []);
}

/** Asserts that after recovery complete summaries are in the store, and in the context after the next compaction. */
async function assertRecovers(t: TestContext, harbour: Harbour, valid: Answers): Promise<void> {
  await recover(t, harbour, valid);
  assert.ok((await assertStored(harbour, valid)).some(({ origin }) => origin === "model"));
  await harbour.work(harbour.turns, 16);
  await assertStored(harbour, valid);
  assertContexts(harbour);
  assert.match(harbour.head() ?? "", /The berths are looked after, part \d+/);
  assert.deepEqual(harbour.degraded, []);
}

const NOW = Date.UTC(2026, 5, 1);
/** The slow case: the model's client retries a broken connection. */
const SLOW = "breaks off";

longTest(
  "the output of a summarizer that misbehaves in all ways is never used as a summary, and it recovers",
  async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: NOW });
    const harbour = await Harbour.open({ lossless: SETTINGS });
    const valid: Answers = { answers: new Set() };
    try {
      harbour.summarize = () => ({ status: 400 });
      await harbour.work(0, 12);
      for (const [name, bad] of Object.entries(BAD)) {
        if (name === SLOW) continue;
        await misbehave(harbour, valid, bad, 3);
        t.mock.timers.tick(7 * 3_600_000);
      }
      await assertRecovers(t, harbour, valid);
    } finally {
      await harbour.end();
    }
  },
);

for (const [name, bad] of FULL ? Object.entries(BAD) : []) {
  test(`200 turns with a summarizer that ${name} have only extracts with debts, and it recovers`, async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: NOW });
    const harbour = await Harbour.open({ lossless: SETTINGS });
    const valid: Answers = { answers: new Set() };
    try {
      await misbehave(harbour, valid, bad, 200);
      assertContexts(harbour);
      const nodes = await assertStored(harbour, valid);
      assert.ok(nodes.every(({ origin }) => origin === "extractive"));
      await assertRecovers(t, harbour, valid);
      t.diagnostic(`${nodes.length} extracts, ${harbour.compactions.length} compactions`);
    } finally {
      await harbour.end();
    }
  });
}

longTest(
  "a summarizer that hangs blocks no turn, is ended at a deadline and is reported as a failed attempt",
  async (t) => {
    const harbour = await Harbour.open({
      lossless: SETTINGS,
      defaults: { engineDeadlines: { maintain: 0.05 } },
    });
    const hangs = Promise.withResolvers<ReplyStep>();
    try {
      harbour.summarize = () => hangs.promise;
      await harbour.work(0, 30);
      assertContexts(harbour);
      const nodes = await assertStored(harbour, { answers: new Set() });
      assert.ok(nodes.every(({ origin }) => origin === "extractive"));
      assert.ok((await debtsOf(harbour)).count > 0, "no debt is reported");
      // The host's own deadline has passed; now only the engine's can end it.
      for (let before = -1; before !== harbour.asked;) {
        before = harbour.asked;
        await pause(400);
      }
      t.mock.timers.enable({ apis: ["setTimeout"] });
      const { asked } = harbour;
      const done = harbour.pagurus.maintain({});
      while (harbour.asked === asked) await rest();
      t.mock.timers.tick(91_000);
      await done;
      t.mock.timers.reset();
      const owed = await debtsOf(harbour);
      assert.deepEqual([owed.attempts, owed.errorCode], [1, "deadline_exceeded"]);
      assert.deepEqual(harbour.degraded, []);
    } finally {
      hangs.resolve({ text: "" });
      await harbour.end();
    }
  },
);

test("a manual compaction is an extract when the model failed, with a debt for the model's summary", async () => {
  const harbour = await Harbour.open({ lossless: SETTINGS });
  try {
    harbour.summarize = () => ({ text: "" });
    await harbour.work(0, 6);
    const made = await harbour.pagurus.compact({});
    assert.equal(made.compacted, true, made.reason);
    assert.ok((await debtsOf(harbour)).count > 0);
    const nodes = await assertStored(harbour, { answers: new Set() });
    assert.ok(nodes.every(({ origin }) => origin === "extractive"));
  } finally {
    await harbour.end();
  }
});
