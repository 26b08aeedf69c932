/**
 * `bench codex`: the host's overhead on the real Codex, over a bare driver of the same program in the same run that sends
 * the same requests; many sessions on one child; memory. The endpoint answers at once, so that the overhead is visible.
 */
import type { BenchOptions, BenchRow } from "../report.ts";
import { changeRows, warmRows } from "./epoch.ts";
import { memoryRows } from "./memory.ts";
import { parallelRows } from "./parallel.ts";
import { startResponsesEndpoint, type ResponsesEndpoint } from "./place.ts";

type Part = (endpoint: ResponsesEndpoint, options: BenchOptions) => Promise<BenchRow[]>;

const PARTS: Record<string, Part> = {
  warm: warmRows,
  change: changeRows,
  parallel: parallelRows,
  memory: memoryRows,
};

export const parts: readonly string[] = Object.keys(PARTS);

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const endpoint = await startResponsesEndpoint();
  try {
    const rows: BenchRow[] = [];
    for (const [name, part] of Object.entries(PARTS))
      if (options.only === undefined || options.only === name) rows.push(...(await part(endpoint, options)));
    return rows;
  } finally {
    endpoint.close();
  }
}
