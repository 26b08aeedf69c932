/**
 * How good assembled contexts are, without a judge: recorded coding sessions replayed call by call under every policy
 * and engine, recall over long histories, continuity over scripted jobs. Metrics M1-M3 and M5-M8.
 */
import type { BenchOptions, BenchRow } from "../report.ts";
import { continuityRows } from "./continuity/rows.ts";
import { recallRows } from "./recall/rows.ts";
import { replayRows } from "./replay-rows.ts";

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  return [...(await replayRows(options)), ...(await recallRows(options)), ...(await continuityRows(options))];
}
