/**
 * Quality of assembled contexts, without a judge: recorded coding sessions replayed call by call under every policy and
 * engine, what survives compactions, recall over long histories and conversations, facts after compactions, continuity over scripted jobs. Metrics M1-M3 and M5-M8.
 */
import type { BenchOptions, BenchRow } from "../report.ts";
import { continuityRows } from "./continuity/rows.ts";
import { blockRows } from "./recall/blocks.ts";
import { factRows } from "./recall/after-compactions.ts";
import { costRows } from "./recall/cost.ts";
import { inARowRows } from "./recall/in-a-row-rows.ts";
import { conversationRows, recallRows } from "./recall/rows.ts";
import { replayCommandRows } from "./replay-command-rows.ts";
import { replayRows } from "./replay-rows.ts";
import { lastingRows } from "./rules/rows.ts";
import { survivalRows } from "./survival-rows.ts";

const PARTS: Record<string, (options: BenchOptions) => Promise<BenchRow[]>> = {
  replay: replayRows,
  survival: survivalRows,
  "replay-command": replayCommandRows,
  recall: recallRows,
  conversations: conversationRows,
  "in-a-row": inARowRows,
  blocks: blockRows,
  facts: factRows,
  "recall-cost": costRows,
  continuity: continuityRows,
  rules: lastingRows,
};

export const parts = Object.keys(PARTS);

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [name, part] of Object.entries(PARTS)) {
    if (options.only === undefined || options.only === name) rows.push(...(await part(options)));
  }
  return rows;
}
