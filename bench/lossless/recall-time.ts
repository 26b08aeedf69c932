/** How long the contexts of turns take in long sessions, with recall for each turn and without. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchOptions, BenchRow } from "../report.ts";
import { CHILD } from "./assemble.ts";
import type { AssembleJob } from "./assemble-jobs.ts";
import type { Figures } from "./jobs.ts";
import { inChild, onCopy, Place, row, sizeName } from "./store.ts";

/** Messages, and the most ms of a context with recall (p95). */
const SIZES = [
  [100_000, 20],
  [1_000_000, 40],
] as const;
const SIZES_QUICK = [[1_000, 20]] as const;
const MOST_MS_WITHOUT = 5;

type Way = Required<Pick<AssembleJob, "recalls" | "asks">>;

function turnsIn({ folder }: Place, way: Way, turns: number): Promise<Figures> {
  return onCopy(folder, (copy) => {
    const job: AssembleJob = { name: "turns", folder: copy, turns, ...way };
    return inChild(job, CHILD);
  });
}

function rowsOf(what: string, figures: Figures, most: number | undefined): BenchRow[] {
  return [
    row(
      `${what}: contexts of turns, p95`,
      [figures["allP95"], "ms"],
      most === undefined ? undefined : ["<=", most],
    ),
    row(`${what}: first contexts of turns, p50`, [figures["firstP50"], "ms"]),
    row(`${what}: first contexts of turns, p95`, [figures["firstP95"], "ms"]),
  ];
}

/** The inputs of the generator are statements of common words, a quarter of them short enough to be searched; as questions all are. */
export async function recallTimeRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [count, most] of quick ? SIZES_QUICK : SIZES) {
    const root = mkdtempSync(join(tmpdir(), "pagurus-recall-time-"));
    try {
      log(`lossless: a session of ${count} messages`);
      const place = new Place(root, "history", count);
      await place.job("write");
      await place.job("adopt");
      const turns = quick ? 10 : 150;
      const at = sizeName(count);
      log("lossless: turns with recall and without");
      rows.push(
        ...rowsOf(`${at}, recall`, await turnsIn(place, { recalls: true, asks: false }, turns), most),
        ...rowsOf(
          `${at}, recall, every input a question`,
          await turnsIn(place, { recalls: true, asks: true }, turns),
          undefined,
        ),
        ...rowsOf(
          `${at}, no recall`,
          await turnsIn(place, { recalls: false, asks: false }, turns),
          MOST_MS_WITHOUT,
        ),
      );
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  }
  return rows;
}
