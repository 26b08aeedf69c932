/** The measure of lasting rules, in its short form: rules in force are in sight, others are not in force. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ruleConversation } from "../../../bench/context/rules/conversation.ts";
import { lastingRows } from "../../../bench/context/rules/rows.ts";
import { REPORTING, TUNING } from "../../../bench/context/rules/templates.ts";
import { lastingNow } from "../../../packages/lossless/src/head/rule-history.ts";
import { runs } from "../../runner/short-form.ts";

test("rules in force are in sight at 8k, in talk and in work, and those that were taken back are not in force", async () => {
  const rows = await lastingRows({ quick: true, log: () => undefined });
  assert.equal(rows.length, 16);
  assert.deepEqual(
    rows.filter(({ ok }) => ok === false),
    [],
  );
});

test("of each conversation only the rules are found that hold at its end", () => {
  for (const forms of [TUNING, REPORTING])
    for (let seed = 0; seed < runs(200); seed += 1) {
      const options = { seed, forms, characters: 20_000, rules: 5, works: false };
      const { messages, rules } = ruleConversation(options);
      const found = lastingNow(
        undefined,
        messages.map((message) => ({ message })),
      );
      const kept = rules.filter(({ fate }) => fate === "kept").map(({ text }) => text);
      const replacing = rules.flatMap(({ fate, end }) => (fate === "replaced" ? (end ?? []) : []));
      assert.deepEqual(
        found.rules.map(({ text }) => text).toSorted(),
        [...kept, ...replacing].toSorted(),
        `seed ${seed}`,
      );
    }
});
