/**
 * Quality of assembled contexts, without a judge: recorded coding sessions replayed call by call under every policy and
 * engine, recall over long histories and conversations, facts after compactions, continuity over scripted jobs. Metrics M1-M3 and M5-M8.
 */
import type { BenchOptions, BenchRow } from "../report.ts";
import { continuityRows } from "./continuity/rows.ts";
import { factRows } from "./recall/after-compactions.ts";
import { costRows } from "./recall/cost.ts";
import { conversationRows, recallRows } from "./recall/rows.ts";
import { replayRows } from "./replay-rows.ts";

const PARTS: Record<string, (options: BenchOptions) => Promise<BenchRow[]>> = {
  replay: replayRows,
  recall: recallRows,
  conversations: conversationRows,
  facts: factRows,
  "recall-cost": costRows,
  continuity: continuityRows,
};

export const parts = Object.keys(PARTS);

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [name, part] of Object.entries(PARTS)) {
    if (options.only === undefined || options.only === name) rows.push(...(await part(options)));
  }
  return rows;
}
