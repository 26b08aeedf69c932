import assert from "node:assert/strict";
import { test } from "node:test";
import {
  FIGURES_VERSION,
  incomparable,
  worseFigures,
  type Figure,
  type ReplayReport,
} from "../../packages/replay/src/replay-figures.ts";

function report(figures: Figure[], more: Partial<ReplayReport> = {}): ReplayReport {
  const session = { file: "a", format: "codex", calls: 3, messages: 9, tokens: 900, isShortened: false };
  return {
    version: FIGURES_VERSION,
    window: 64_000,
    sessions: [session],
    leftOut: [],
    engines: [{ id: "mine", figures }],
    ...more,
  };
}

const percent = (value: number): Figure => ({ name: "paths", value, unit: "%", better: "more" });
const tokens = (value: number): Figure => ({ name: "cost", value, unit: "tokens", better: "less" });
const prompts = (value: number): Figure => ({ name: "broken", value, unit: "prompts", better: "less" });

test("a figure is worse beyond half a point, two percent of tokens, or one prompt", () => {
  const saved = report([percent(90), tokens(1_000), prompts(0)]);
  const names = (now: Figure[]): string[] => worseFigures(report(now), saved).map(({ name }) => name);
  assert.deepEqual(names([percent(89.6), tokens(1_019), prompts(0)]), []);
  assert.deepEqual(names([percent(89.4), tokens(1_021), prompts(1)]), ["paths", "cost", "broken"]);
  assert.deepEqual(names([percent(99), tokens(10), prompts(0)]), []);
});

test("a figure that is only shown, has no value or is new is never worse", () => {
  const saved = report([
    { name: "compactions", value: 1, unit: "" },
    { name: "none", unit: "%", better: "more" },
  ]);
  const now = report([
    { name: "compactions", value: 9, unit: "" },
    { name: "none", value: 0, unit: "%", better: "more" },
    percent(0),
  ]);
  assert.deepEqual(worseFigures(now, saved), []);
});

test("figures of another window, of other sessions or of other engines cannot be compared", () => {
  const saved = report([percent(90)]);
  assert.equal(incomparable(saved, saved), undefined);
  assert.match(incomparable(report([], { window: 200_000 }), saved) ?? "", /window of 64000/);
  assert.match(incomparable(report([], { sessions: [] }), saved) ?? "", /other sessions/);
  assert.match(
    incomparable(report([], { engines: [{ id: "x", figures: [] }] }), saved) ?? "",
    /none of these engines/,
  );
});
