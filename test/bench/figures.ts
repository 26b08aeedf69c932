import assert from "node:assert/strict";
import type { BenchRow } from "../../bench/report.ts";

/** Fails for a row without a figure. 0 is one: the kernel may count processor time in ticks of 10 ms. */
export function assertFigures(rows: readonly BenchRow[]): void {
  for (const { measure, value } of rows) assert.ok(Number.isFinite(value) && value >= 0, measure);
}
