/** Invariants at the end of every long run. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { longRun, memoryGrowth, turnsBetween, type LongRunOptions, type Report } from "./job.ts";
import type { Conversation } from "./conversation.ts";
import { FULL } from "../../runner/short-form.ts";

export const WINDOW = 32_000;
/** The built-in headroom is a quarter of a window of this size; the estimate may miss by a fiftieth. */
const MOST_TOKENS = WINDOW * 0.75 * 1.02;
const FEWEST_TURNS_BETWEEN = 5;
const MOST_GROWTH_MIB = 20;

export interface Lanes {
  queued: number;
  inAttempt: number;
}

/** Runs it and asserts the invariants of each run of many turns; returns the lanes for the checks of single runs. */
export async function soundRun(t: TestContext, options: LongRunOptions): Promise<Lanes> {
  // In full length the claim is about a process with the usual start options.
  const memoryFrom = FULL ? 200 : Math.min(120, options.turns / 2);
  const { report, conversation } = await longRun({ ...options, memoryFrom, oneArena: !FULL });
  assertSound(report, conversation, options.turns);
  const { compactions } = report;
  const fewest = Math.min(...turnsBetween(compactions));
  assert.ok(fewest >= FEWEST_TURNS_BETWEEN, `${fewest} turns between two compactions`);
  const { from, to, growth } = memoryGrowth(report, memoryFrom);
  assert.ok(growth <= MOST_GROWTH_MIB, `resident memory grew from ${from} to ${to} MiB`);
  const lanes = {
    queued: compactions.filter(({ lane }) => lane === "queued").length,
    inAttempt: compactions.filter(({ lane }) => lane === "in-attempt").length,
  };
  t.diagnostic(
    `${options.turns} turns, ${conversation.requests} requests, at most ${conversation.largest} tokens; compactions: ` +
      `${lanes.queued} queued, ${lanes.inAttempt} in-attempt, at least ${fewest} turns between two; ` +
      `resident memory ${from.toFixed(1)} MiB after ${memoryFrom} turns, ${to.toFixed(1)} MiB in the end`,
  );
  return lanes;
}

/** Every request was valid and within the window, each turn ended, and no message is lost. */
export function assertSound(report: Report, conversation: Conversation, turns: number): void {
  assert.deepEqual(conversation.problems, []);
  assert.deepEqual(report.degraded, []);
  assert.deepEqual(report.failedCompactions, []);
  assert.deepEqual(report.notCompleted, []);
  assert.equal(conversation.turn, turns);
  assert.ok(conversation.largest <= MOST_TOKENS, `${conversation.largest} tokens in a request`);
  assert.equal(report.repeatedCalls, 0);
  assert.equal(report.inputsInTranscript, turns);
  assert.equal(report.found, 1);
  // Each compaction shows in the very next request, and no request waited for two.
  assert.equal(conversation.cuts.length, report.compactions.length);
  assert.equal(new Set(report.compactions.map(({ request }) => request)).size, report.compactions.length);
}
