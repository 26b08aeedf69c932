import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { Pace } from "../../../packages/core/src/platform/pace.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import type { StringUse } from "../../../packages/lossless/src/epoch.ts";
import { chooseStrings, gatherStrings, stringsOfTalk } from "../../../packages/lossless/src/head/strings.ts";
import { byLength } from "../../runner/short-form.ts";

const use = (value: string, written = 1, last = 100): StringUse => ({ value, said: written, last });

function call(args: Record<string, unknown>): AgentMessage {
  return { role: "assistant", content: [{ type: "toolCall", id: "c1", name: "shell", arguments: args }] };
}

function result(text: string): AgentMessage {
  return {
    role: "toolResult",
    toolCallId: "c1",
    toolName: "shell",
    content: [{ type: "text", text }],
    isError: false,
  };
}

function choose(uses: readonly StringUse[], shown: string, budget: number): Promise<string[]> {
  return chooseStrings(uses, { now: 100, shown, budget }, new Pace());
}

function values(uses: readonly StringUse[]): string[] {
  return uses.map(({ value }) => value).toSorted();
}

test("paths, ids, symbols, long numbers and fields that the agent wrote in calls are collected", async () => {
  const uses = await gatherStrings(
    [],
    [call({ path: "src/a/harbour.ts", timeout: 120_000, edits: [{ text: "berthKey: 1, deadline: soon" }] })],
    0,
    new Pace(),
  );
  assert.deepEqual(values(uses), ["120000", "berthKey:", "deadline:", "src/a/harbour.ts"]);
});

test("a plain word with a colon is a name only when the agent wrote it in a call", async () => {
  const prose: AgentMessage = { role: "assistant", content: [{ type: "text", text: "Please note: done" }] };
  const uses = await gatherStrings(
    [],
    [{ role: "user", content: "Remember: all" }, prose, result("warning: deadline: 3\nberth_key: 4")],
    0,
    new Pace(),
  );
  assert.deepEqual(values(uses), ["berth_key:"]);
});

test("a later result does not refresh a string that the user or the agent wrote", async () => {
  const first = await gatherStrings([], [call({ path: "src/harbour.ts" })], 0, new Pace());
  const shown = [result("src/harbour.ts"), result("src/harbour.ts")];
  const [known] = await gatherStrings(first, shown, 1, new Pace());
  assert.deepEqual(known, { value: "src/harbour.ts", said: 1, last: 0 });
});

test("written strings rank above shown ones, fresh above old ones, and frequently written ones stay longer", async () => {
  const order = async (one: StringUse, other: StringUse): Promise<string | undefined> =>
    (await choose([other, one], "", estimateTokens(` ${one.value}`)))[0];
  assert.equal(await order(use("aaa_bbb"), use("ccc_ddd", 0)), "aaa_bbb");
  assert.equal(await order(use("aaa_bbb"), use("ccc_ddd", 1, 10)), "aaa_bbb");
  assert.equal(await order(use("aaa_bbb", 8, 0), use("ccc_ddd", 1, 0)), "aaa_bbb");
});

test("strings that are shown already are skipped, and so is a string inside a longer one", async () => {
  const uses = [use("harbour.ts", 9), use("src/a/harbour.ts"), use("berth_key"), use("quay_side")];
  assert.deepEqual((await choose(uses, "see berth_key: 3", 1_000)).toSorted(), [
    "quay_side",
    "src/a/harbour.ts",
  ]);
});

test("the chosen strings never exceed the budget, whatever they are, and the choice is deterministic", async () => {
  const strings = fc.array(
    fc.record({
      value: fc.stringMatching(/^[a-z][a-z0-9_./]{5,40}$/),
      said: fc.nat(5),
      last: fc.nat(100),
    }),
    { maxLength: 80 },
  );
  await fc.assert(
    fc.asyncProperty(strings, fc.nat(300), async (uses, budget) => {
      const chosen = await choose(uses, "", budget);
      const cost = chosen.reduce((sum, value) => sum + estimateTokens(` ${value}`), 0);
      assert.ok(cost <= budget, `${cost} tokens of ${budget}`);
      assert.deepEqual(await choose(uses.toReversed(), "", budget), chosen);
      for (const value of chosen)
        assert.ok(!chosen.some((other) => other !== value && other.includes(value)), value);
    }),
    { numRuns: byLength(1_000, 100, 30) },
  );
});

test("of talk only addresses, paths and codes are exact strings", () => {
  const kept = ["https://example.org/a", "ann@example.org", "notes/harbour.md", "AB-1234x", "berth_7"];
  const left = [
    "and/or",
    "done.Then",
    "iPhone",
    "10:30am",
    "20th-century",
    "100km/h",
    "12/05/2023",
    "wait...what",
  ];
  const uses = [...kept, ...left].map((value) => ({ value, said: 1, last: 0 }));
  assert.deepEqual(
    stringsOfTalk(uses).map(({ value }) => value),
    kept,
  );
});
