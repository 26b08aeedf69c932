/** Assertions for every long run with the engine `lossless`. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Ledger } from "./ledger.ts";
import { LOOKED_FOR, longRun, median, type LongRunOptions, type Report } from "./run.ts";
import { FULL } from "../../../runner/short-form.ts";

/** Blocks of turns whose costs are compared. */
const STRETCH = FULL ? 20 : 3;
/** Limit on the median cost of the last turns, relative to an early stretch. */
const MOST_DEARER = 1.5;
const MOST_GROWTH_MIB = 30;

/** Runs it and makes the assertions for every run. */
export async function soundRun(
  t: TestContext,
  options: LongRunOptions,
): Promise<{ report: Report; ledger: Ledger }> {
  const run = await longRun(options);
  const { report, ledger } = run;
  assert.deepEqual(ledger.problems, []);
  assert.deepEqual(report.degraded, []);
  assert.deepEqual(report.failedCompactions, []);
  assert.deepEqual(report.notCompleted, []);
  assert.equal(ledger.turn, options.turns);
  assert.equal(report.found, LOOKED_FOR, "inputs are not found again");
  // Each epoch that the model saw was announced and recorded as a compaction of the engine.
  assert.equal(ledger.epochs, report.compactions.length);
  assert.ok(report.compactions.every(({ handledBy }) => handledBy === "lossless"));
  const lanes = [...new Set(report.compactions.map(({ lane }) => lane))].join(", ");
  t.diagnostic(
    `${options.turns} turns, ${ledger.requests} requests, ${ledger.tokens} tokens said, at most ${ledger.largest} in a request; ` +
      `${ledger.epochs} epochs (${ledger.splits} inside a turn; ${lanes}), ${ledger.summaryRequests} summaries asked for, ` +
      `${ledger.stubs} results left out at once, ${report.debts} debts, ${Math.round(report.wallMs / 1_000)} s`,
  );
  return run;
}

/** Asserts that the last turns cost as much as those after the turn `from`, in statements and in rows. */
export function assertEvenCosts(t: TestContext, { costs }: Report, from: number): void {
  const stretch = (start: number): { statements: number; rows: number } => {
    const part = costs.slice(start, start + STRETCH);
    assert.equal(part.length, STRETCH);
    return {
      statements: median(part.map(({ statements }) => statements)),
      rows: median(part.map(({ rows }) => rows)),
    };
  };
  const early = stretch(costs.findIndex(({ turn }) => turn > from));
  const late = stretch(costs.length - STRETCH);
  t.diagnostic(
    `statements of a turn ${early.statements} after ${from} turns, ${late.statements} in the end; rows ${early.rows}, ${late.rows}`,
  );
  assert.ok(
    late.statements <= early.statements * MOST_DEARER,
    `${late.statements} statements after ${early.statements}`,
  );
  assert.ok(late.rows <= early.rows * MOST_DEARER, `${late.rows} rows after ${early.rows}`);
}

export function assertFlatMemory(t: TestContext, report: Report): void {
  const { memoryBefore, memoryAfter } = report;
  t.diagnostic(
    `resident memory ${memoryBefore.toFixed(1)} MiB early, ${memoryAfter.toFixed(1)} MiB in the end`,
  );
  assert.ok(
    memoryAfter - memoryBefore <= MOST_GROWTH_MIB,
    `resident memory grew from ${memoryBefore} to ${memoryAfter} MiB`,
  );
}
