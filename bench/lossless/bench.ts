/** `bench lossless`: the lossless engine and its store at the sizes of long histories. */
import type { BenchOptions, BenchRow } from "../report.ts";
import { EngineBench } from "./assemble.ts";
import { recallTimeRows } from "./recall-time.ts";
import { storeRows } from "./store.ts";

/** Only where it is asked for: the rest is compared with other commits, whose engines may have no recall. */
const RECALL_TIME = "recall-time";

export const parts = [RECALL_TIME];

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  if (options.only === RECALL_TIME) return recallTimeRows(options);
  const engine = new EngineBench(options);
  const rows = await storeRows(options, engine.visit);
  await engine.small();
  return [...rows, ...engine.rows];
}
