/** The shape of every benchmark's result, and its table for people. */
import { availableParallelism, cpus, totalmem } from "node:os";

export interface BenchRow {
  /** What was measured, as text. */
  measure: string;
  value: number;
  unit: string;
  /** The same measure of a known peer. */
  peer?: { name: string; value: number };
  /** Ours divided by the peer's. */
  ratio?: number;
  /** As text: `>= 50`. */
  target?: string;
  /** Whether the target is met; absent without one. */
  ok?: boolean;
}

export interface BenchOptions {
  /** A few seconds, for tests of the benchmark itself; figures are rougher. */
  quick: boolean;
  /** One of the benchmark's `parts`; all of them where absent. */
  only?: string;
  /** A line of progress, for people. */
  log(line: string): void;
}

export interface Benchmark {
  /** Names of the parts that can be run alone. */
  parts?: readonly string[];
  /** Throws where a part with a target has nothing to measure. */
  run(options: BenchOptions): Promise<BenchRow[]>;
}

/** The rows of all parts, or of the one that is asked for, one after the other. */
export async function partRows(
  jobs: Readonly<Record<string, () => Promise<BenchRow[]>>>,
  { only, log }: Pick<BenchOptions, "only" | "log">,
): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [name, job] of Object.entries(jobs)) {
    if (only !== undefined && name !== only) continue;
    log(name);
    rows.push(...(await job()));
  }
  return rows;
}

interface Machine {
  cpu: string;
  cores: number;
  memoryGiB: number;
  node: string;
  platform: string;
}

export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  };
}

/** A row with a target and its verdict. */
export function withTarget(row: BenchRow, sign: "<=" | ">=", bound: number): BenchRow {
  const ok = sign === "<=" ? row.value <= bound : row.value >= bound;
  return { ...row, target: `${sign} ${bound}`, ok };
}

/** A row with a peer's figure and the ratio to it. */
export function withPeer(row: BenchRow, name: string, value: number): BenchRow {
  return { ...row, peer: { name, value }, ratio: value === 0 ? 0 : row.value / value };
}

/** At least three significant digits, no exponent. */
function number(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(magnitude >= 10 ? 1 : 2);
}

function cells(row: BenchRow): string[] {
  return [
    row.measure,
    number(row.value),
    row.unit,
    row.peer === undefined ? "" : `${number(row.peer.value)} (${row.peer.name})`,
    row.ratio === undefined ? "" : `${number(row.ratio)}x`,
    row.target ?? "",
    row.ok === undefined ? "" : row.ok ? "ok" : "MISSED",
  ];
}

/** The rows as a table in plain text; columns that no row uses are left out. */
export function formatTable(rows: readonly BenchRow[]): string {
  const table = [["measure", "value", "unit", "peer", "ratio", "target", ""], ...rows.map(cells)];
  const used = (table[0] ?? []).map((_head, column) => table.slice(1).some((line) => line[column] !== ""));
  const widths = used.map((_used, column) => Math.max(...table.map((line) => (line[column] ?? "").length)));
  const format = (line: readonly string[]): string =>
    line
      .map((cell, column) =>
        column === 1 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .filter((_cell, column) => used[column])
      .join("  ")
      .trimEnd();
  return table.map(format).join("\n");
}
