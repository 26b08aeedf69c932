import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Pace } from "../../packages/core/src/platform/pace.ts";
import { compactByRuntime } from "../../packages/core/src/compaction/runtime-compaction.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { answering, COMPLETE } from "./answering.ts";
import { assistant, call, numbered, result, user } from "./histories.ts";

/** Long enough for many slices on any machine. */
const LONG: AgentMessage[] = numbered(
  Array.from({ length: 4_000 }, (_, index) => [
    user(`Look at src/file${index}.ts for ticket ABC-${index} and say why test_${index} fails.`),
    assistant("I decided to read it.", [call(`c${index}`, "read", { path: `src/file${index}.ts` })]),
    result(`c${index}`, `export const value${index} = 1;\nerror: something in module_${index}\n`.repeat(3)),
    assistant(`Fixed: ticket ABC-${index} was caused by value${index} because of module_${index}.`),
  ]).flat(),
);
const PARAMS = { messages: LONG, liveStart: LONG.length, keepRecentTokens: 5_000, tokenBudget: 20_000 };

for (const name of ["extract", "model's summary"]) {
  const model = name === "extract" ? {} : { llm: answering(() => ({ text: COMPLETE })) };

  test(
    `other work runs while an ${name} of a long session is made`.replace("an model", "a model"),
    async () => {
      let others = 0;
      let done = false;
      const other = (): void => {
        others += 1;
        if (!done) setImmediate(other);
      };
      setImmediate(other);
      const answer = await compactByRuntime({ ...PARAMS, ...model, windowTokens: 32_000 });
      done = true;
      assert.equal(answer.compacted, true);
      assert.ok(others > 5);
    },
  );

  test(`an abort ends the preparation of an ${name}`.replace("an model", "a model"), async () => {
    const controller = new AbortController();
    setImmediate(() => setImmediate(() => controller.abort()));
    const params = { ...PARAMS, ...model, windowTokens: 32_000, signal: controller.signal };
    await assert.rejects(compactByRuntime(params), { code: "turn_aborted" });
  });
}

test("the deadline of a model's summary also ends its preparation", async () => {
  const llm = answering(() => ({ text: COMPLETE }));
  const answer = await compactByRuntime({ ...PARAMS, llm, windowTokens: 32_000, timeoutMs: 1 });
  assert.equal(answer.result?.origin, "extractive");
  const details = (answer.result?.details ?? {}) as { modelError?: string };
  assert.match(String(details.modelError), /^deadline_exceeded/);
  assert.equal(llm.requests.length, 0);
});

test("sorting in slices gives the same list as sorting at once", async () => {
  const lists = fc.array(fc.nat({ max: 500 }), { maxLength: 4_000, size: "max" });
  await fc.assert(
    fc.asyncProperty(lists, async (numbers) => {
      const items = numbers.map((key, at) => ({ key, at }));
      const byKey = (a: { key: number }, b: { key: number }): number => a.key - b.key;
      assert.deepEqual(await new Pace().sorted(items, byKey), items.toSorted(byKey));
    }),
    { numRuns: 30 },
  );
});
