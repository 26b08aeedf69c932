import assert from "node:assert/strict";
import { test } from "node:test";
import { createPlanTool, type Plan } from "../../packages/host/src/tool/plan-tool.ts";
import { fixture, textOf } from "./fixture.ts";

test("a plan is shown complete in every mode, with long texts cut", async (t) => {
  const shown: Plan[] = [];
  const { call } = fixture(t, {
    permission: { mode: "deny" },
    extra: [createPlanTool((plan) => shown.push(plan))],
  });
  const plan = [
    { step: "a".repeat(600), status: "completed" },
    { step: " b ", status: "in_progress" },
    { step: "c", status: "pending" },
  ];
  const outcome = await call("update_plan", { plan, explanation: null });
  assert.deepEqual([outcome.isError, textOf(outcome)], [false, "The user sees the plan."]);
  assert.deepEqual(shown, [
    {
      steps: [
        { step: `${"a".repeat(499)}…`, status: "completed" },
        { step: "b", status: "inProgress" },
        { step: "c", status: "pending" },
      ],
    },
  ]);
});

test("an invalid plan is refused with a remedy, and nothing is shown", async (t) => {
  const { call } = fixture(t, {
    extra: [createPlanTool(() => assert.fail("nothing may be shown"))],
  });
  const step = { step: "x", status: "pending" };
  const cases: [params: Record<string, unknown>, told: RegExp][] = [
    [{}, /"plan" is missing/],
    [{ plan: ["x"] }, /"plan\[0\]" must be object/],
    [{ plan: [{ step: "x" }] }, /"plan\[0\]\.status" is missing/],
    [{ plan: [{ ...step, status: "inProgress" }] }, /must be one of/],
    [{ plan: [{ ...step, step: "\n" }] }, /A step of the plan is empty/],
    [{ plan: Array.from({ length: 51 }, () => step) }, /has 51 steps; 50 is the most\. Join some/],
  ];
  for (const [params, told] of cases) {
    const outcome = await call("update_plan", params);
    assert.equal(outcome.isError, true);
    assert.match(textOf(outcome), told);
  }
});

test("a step is one line of visible text, whatever the model sends", async (t) => {
  const shown: Plan[] = [];
  const { call } = fixture(t, {
    permission: { mode: "read-only" },
    extra: [createPlanTool((plan) => shown.push(plan))],
  });
  const plan = [{ step: "\u001b[2J Look\r\n\u202eat\ud83d\u2069 it\u0000", status: "pending" }];
  await call("update_plan", { plan, explanation: "So\u0007 it\nis" });
  assert.deepEqual(shown, [
    { explanation: "So it is", steps: [{ step: "[2J Look at\ufffd it", status: "pending" }] },
  ]);
  const outcome = await call("update_plan", { plan: [{ step: "\u001b\u0000", status: "pending" }] });
  assert.match(textOf(outcome), /A step of the plan is empty/);
});
