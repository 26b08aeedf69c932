import assert from "node:assert/strict";
import { test } from "node:test";
import { measure } from "../../../packages/replay/src/prompt-meter.ts";
import { STATIC_TOKENS, type ContextPolicy } from "../../../packages/replay/src/context-policy.ts";
import { compaction } from "../../../bench/context/policies/compaction.ts";
import { lazyDag } from "../../../bench/context/policies/lazy-dag.ts";
import { appendOnly, batchedTrim, slidingWindow } from "../../../bench/context/policies/windows.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import { WantedStrings } from "../../../packages/replay/src/wanted-strings.ts";
import { readSummary } from "../../../packages/contract/src/engine/summary.ts";
import { longSession } from "./sessions.ts";

const WINDOW = 64_000;
const EXTRACT = { writing: "extract", strings: true } as const;
const BLANK = { writing: "blank", strings: false } as const;

const POLICIES: readonly ContextPolicy[] = [
  slidingWindow(WINDOW),
  batchedTrim(WINDOW),
  compaction(WINDOW, EXTRACT),
  compaction(WINDOW, BLANK),
  lazyDag(WINDOW, EXTRACT),
  lazyDag(WINDOW, BLANK),
];

for (const oneTurn of [false, true]) {
  test(`every policy sends valid prompts within the window, ${oneTurn ? "one long turn" : "many turns"}`, async () => {
    const session = longSession(7, 260, oneTurn);
    const wanted = await WantedStrings.of(session);
    for (const policy of POLICIES) {
      const result = await measure(policy, session, wanted);
      const { invalidPrompts, lackingLiveInput, duplicates, overLimit, brokenPrefixes } = result;
      assert.deepEqual(
        { invalidPrompts, lackingLiveInput, duplicates, overLimit, brokenPrefixes },
        { invalidPrompts: 0, lackingLiveInput: 0, duplicates: 0, overLimit: 0, brokenPrefixes: 0 },
        policy.name,
      );
      assert.ok(result.compactions > 1, policy.name);
      assert.ok(result.largestContext <= WINDOW, policy.name);
    }
  });
}

test("append-only sends the whole history and is the ideal of caching", async () => {
  const session = longSession(3, 60);
  const result = await measure(appendOnly(), session, await WantedStrings.of(session));
  assert.ok(Math.abs(result.cacheEfficiency - 1) < 1e-9);
  assert.equal(result.coverage, 1);
  assert.equal(result.compactions, 0);
});

test("trimming in batches changes the prompt less often than trimming at every call", async () => {
  const session = longSession(5, 260);
  const wanted = await WantedStrings.of(session);
  const every = await measure(slidingWindow(WINDOW), session, wanted);
  const batched = await measure(batchedTrim(WINDOW), session, wanted);
  assert.ok(batched.compactions < every.compactions / 2);
  assert.ok(batched.cost < every.cost);
  assert.ok(batched.cacheEfficiency > every.cacheEfficiency);
});

test("a compaction leaves one summary of its budget and the newest messages; the DAG a few nodes", async () => {
  const session = longSession(9, 260);
  for (const [policy, most] of [
    [compaction(WINDOW, EXTRACT), 1],
    [lazyDag(WINDOW, EXTRACT), 7],
  ] as const) {
    const run = await policy.open(session);
    let compacted = 0;
    for (const call of session.calls) {
      const { messages, epoch } = await run.assemble(call);
      const heads = messages.filter((message) => readSummary(textOfMessage(message)) !== undefined);
      if (epoch !== "0") compacted++;
      assert.ok(heads.length <= most, `${policy.name} has ${heads.length} summaries`);
      assert.equal(heads.length > 0, epoch !== "0");
      await run.settle(call);
    }
    assert.ok(compacted > 0);
  }
});

test("a list of rare strings shows more of what is typed later than the summary alone", async () => {
  const session = longSession(11, 300);
  const wanted = await WantedStrings.of(session);
  const without = await measure(compaction(WINDOW, BLANK), session, wanted);
  const withStrings = await measure(compaction(WINDOW, { writing: "blank", strings: true }), session, wanted);
  assert.ok(withStrings.coverage >= without.coverage);
  assert.ok(STATIC_TOKENS < withStrings.meanContext);
});
