/** `bench lossless`: the lossless engine at the sizes of long histories. */
import type { BenchOptions, BenchRow } from "../report.ts";
import { storeRows } from "./store.ts";

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  return storeRows(options);
}
