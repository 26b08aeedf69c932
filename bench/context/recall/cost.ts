/** What recall for a turn costs: the same replays with it and without it. */
import { createLosslessEngine } from "../../../packages/lossless/src/lossless-engine.ts";
import { type BenchOptions, type BenchRow, withTarget } from "../../report.ts";
import { engineContextPolicy } from "../../../packages/replay/src/engine/engine-policy.ts";
import { measure, type Measured } from "../../../packages/replay/src/prompt-meter.ts";
import { recordedSessions } from "../replay/claude-code.ts";
import { asOneAgent, type RecordedSession } from "../../../packages/replay/src/recorded-session.ts";
import { WantedStrings } from "../../../packages/replay/src/wanted-strings.ts";
import { readDialogues, recordedDialogues } from "../replay/tau-bench.ts";

interface Replay {
  session: RecordedSession;
  windows: readonly number[];
  /** Most cost with recall, relative to the cost without. */
  most: number;
}

const OFF = { plugins: { entries: { lossless: { config: { recall: false } } } } };

function replays(quick: boolean): Replay[] {
  const found: Replay[] = [];
  const coding = recordedSessions();
  const windows = quick ? [64_000] : [200_000, 64_000];
  if (coding) found.push({ session: asOneAgent("coding sessions", coding.main), windows, most: 1.02 });
  const dialogues = recordedDialogues()?.toSorted((a, b) => a.trial - b.trial || a.task_id - b.task_id);
  if (dialogues && !quick)
    found.push({ session: readDialogues("service dialogues", dialogues), windows: [64_000], most: 1.15 });
  return found;
}

export async function costRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const { session, windows, most } of replays(quick)) {
    const wanted = await WantedStrings.of(session);
    for (const window of windows) {
      const run = (name: string, config: unknown): Promise<Measured> =>
        measure(engineContextPolicy(name, createLosslessEngine, { window, config }), session, wanted);
      const [off, on] = [await run("without recall", OFF), await run("with recall", {})];
      const label = `${session.name}, ${window / 1_000}k`;
      log(
        `${label}: cost ${off.cost.toFixed(3)} and ${on.cost.toFixed(3)} M, far ${(100 * off.farCoverage).toFixed(1)} and ${(100 * on.farCoverage).toFixed(1)} %`,
      );
      const row = (measured: string, value: number, unit = ""): BenchRow => ({
        measure: `${label}: ${measured}`,
        value,
        unit,
      });
      rows.push(
        withTarget(row("cost with recall over cost without", on.cost / off.cost, "ratio"), "<=", most),
        row("far strings visible without recall", 100 * off.farCoverage, "%"),
        row("far strings visible with recall", 100 * on.farCoverage, "%"),
        withTarget(row("prefixes broken with recall", on.brokenPrefixes, "prompts"), "<=", 0),
        withTarget(row("prompts over the window with recall", on.overLimit, "prompts"), "<=", 0),
      );
    }
  }
  return rows;
}
