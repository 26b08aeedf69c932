/** `bench wire`: costs and savings of the model gateway. */
import type { BenchOptions, BenchRow } from "../report.ts";
import { memoryRows } from "./memory.ts";
import { firstByteRows, passthroughRows } from "./passthrough.ts";
import { prefixRows } from "./prefix.ts";

const PARTS: Record<string, (options: BenchOptions) => Promise<BenchRow[]>> = {
  passthrough: passthroughRows,
  "first-byte": firstByteRows,
  prefix: prefixRows,
  memory: memoryRows,
};

export const parts: readonly string[] = Object.keys(PARTS);

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [name, part] of Object.entries(PARTS))
    if (options.only === undefined || options.only === name) rows.push(...(await part(options)));
  return rows;
}
