/** `bench lossless`: the lossless engine and its store at the sizes of long histories. */
import type { BenchOptions, BenchRow } from "../report.ts";
import { EngineBench } from "./assemble.ts";
import { storeRows } from "./store.ts";

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const engine = new EngineBench(options);
  const rows = await storeRows(options, engine.visit);
  await engine.small();
  return [...rows, ...engine.rows];
}
