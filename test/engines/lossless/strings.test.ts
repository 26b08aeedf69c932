import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../src/contract/message.ts";
import { estimateTokens } from "../../../src/tokens/estimate.ts";
import type { StringUse } from "../../../src/engines/lossless/epoch.ts";
import { chooseStrings, gatherStrings } from "../../../src/engines/lossless/strings.ts";

const use = (value: string, said = 1, last = 100): StringUse => ({ value, said, last });

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

function values(uses: readonly StringUse[]): string[] {
  return uses.map(({ value }) => value).toSorted();
}

test("paths, ids, symbols, long numbers and fields that the agent wrote into calls are gathered", () => {
  const uses = gatherStrings(
    [],
    [call({ path: "src/a/harbour.ts", timeout: 120_000, edits: [{ text: "berthKey: 1, deadline: soon" }] })],
    0,
  );
  assert.deepEqual(values(uses), ["120000", "berthKey:", "deadline:", "src/a/harbour.ts"]);
});

test("a plain word with a colon is a name only where the agent wrote it into a call", () => {
  const prose: AgentMessage = { role: "assistant", content: [{ type: "text", text: "Please note: done" }] };
  const uses = gatherStrings(
    [],
    [{ role: "user", content: "Remember: all" }, prose, result("warning: deadline: 3\nberth_key: 4")],
    0,
  );
  assert.deepEqual(values(uses), ["berth_key:"]);
});

test("what a result shows later on does not make a string younger that somebody wrote", () => {
  const first = gatherStrings([], [call({ path: "src/harbour.ts" })], 0);
  const [known] = gatherStrings(first, [result("src/harbour.ts"), result("src/harbour.ts")], 1);
  assert.deepEqual(known, { value: "src/harbour.ts", said: 1, last: 0 });
});

test("written strings go before shown ones, fresh before old ones, and often written ones stay longer", () => {
  const order = (one: StringUse, other: StringUse): string | undefined =>
    chooseStrings([other, one], 100, "", estimateTokens(` ${one.value}`))[0];
  assert.equal(order(use("aaa_bbb"), use("ccc_ddd", 0)), "aaa_bbb");
  assert.equal(order(use("aaa_bbb"), use("ccc_ddd", 1, 10)), "aaa_bbb");
  assert.equal(order(use("aaa_bbb", 8, 0), use("ccc_ddd", 1, 0)), "aaa_bbb");
});

test("what is shown already is not named, and of two strings of which one holds the other only the longer", () => {
  const uses = [use("harbour.ts", 9), use("src/a/harbour.ts"), use("berth_key"), use("quay_side")];
  assert.deepEqual(chooseStrings(uses, 100, "see berth_key: 3", 1_000).toSorted(), [
    "quay_side",
    "src/a/harbour.ts",
  ]);
});

test("the strings that are chosen never exceed the budget, whatever they are, and the choice is the same each time", () => {
  const strings = fc.array(
    fc.record({
      value: fc.stringMatching(/^[a-z][a-z0-9_./]{5,40}$/),
      said: fc.nat(5),
      last: fc.nat(100),
    }),
    { maxLength: 80 },
  );
  fc.assert(
    fc.property(strings, fc.nat(300), (uses, budget) => {
      const chosen = chooseStrings(uses, 100, "", budget);
      const cost = chosen.reduce((sum, value) => sum + estimateTokens(` ${value}`), 0);
      assert.ok(cost <= budget, `${cost} tokens of ${budget}`);
      assert.deepEqual(chooseStrings(uses.toReversed(), 100, "", budget), chosen);
      for (const value of chosen)
        assert.ok(!chosen.some((other) => other !== value && other.includes(value)), value);
    }),
    { numRuns: process.env["PAGURUS_PROVE"] === "1" ? 1_000 : 100 },
  );
});
