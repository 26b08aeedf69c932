/** Continuity over scripted jobs as rows. */
import { type BenchOptions, type BenchRow, withTarget } from "../../report.ts";
import { engineContextPolicy } from "../engine/policy.ts";
import type { ContextPolicy } from "../policy.ts";
import { compaction } from "../policies/compaction.ts";
import { lazyDag } from "../policies/lazy-dag.ts";
import { slidingWindow } from "../policies/windows.ts";
import { ENGINES } from "../subjects.ts";
import { scriptedJob, type Job } from "./job.ts";
import { measureContinuity, type ContinuityScore } from "./measure.ts";

const WINDOW = 64_000;
/** Tokens that the user's words may take in a head before the oldest of them may go. */
const USER_SHARE_TOKENS = 4_000;
const JOBS: readonly { seed: number; turns: number; pasted?: number }[] = [
  { seed: 1, turns: 6 },
  { seed: 2, turns: 6 },
  { seed: 3, turns: 6, pasted: 6_000 },
  { seed: 4, turns: 6, pasted: 6_000 },
];

function rowsOf(score: ContinuityScore, judged: boolean): BenchRow[] {
  const row = (measure: string, value: number, unit: string): BenchRow => ({
    measure: `continuity, ${score.policy}: ${measure}`,
    value,
    unit,
  });
  const share = (measure: string, value: number): BenchRow => {
    const made = row(measure, 100 * value, "%");
    return judged ? withTarget(made, ">=", 100) : made;
  };
  const open = row("contexts with a finished call or step shown as open", score.finishedShownOpen, "");
  return [
    row("compactions", score.compactions, ""),
    row("contexts checked", score.contexts, ""),
    share("the user's words verbatim", score.userTexts),
    share("corrections verbatim", score.corrections),
    share("files with their last state", score.files),
    share("open step present", score.openSteps),
    share("side effects stated", score.sideEffects),
    judged ? withTarget(open, "<=", 0) : open,
    share("contexts without a finding", score.whole),
  ];
}

/** `quick`: one short job. */
export async function continuityRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const jobs: Job[] = (quick ? [{ seed: 1, turns: 2 }] : JOBS).map((options) => scriptedJob(options));
  const style = { writing: "extract", strings: true } as const;
  const subjects: { policy: ContextPolicy; judged: boolean }[] = [
    slidingWindow(WINDOW),
    compaction(WINDOW, style),
    lazyDag(WINDOW, style),
  ].map((policy) => ({ policy, judged: false }));
  for (const { name, create, judged, settings } of ENGINES) {
    for (const [setting, options] of Object.entries(settings(WINDOW))) {
      const engine = `engine ${name}, ${setting}`;
      subjects.push({ policy: engineContextPolicy(engine, create, { ...options, window: WINDOW }), judged });
    }
  }
  const rows: BenchRow[] = [];
  for (const { policy, judged } of subjects) {
    const score = await measureContinuity(policy, jobs, { userShareTokens: USER_SHARE_TOKENS });
    const shown = Object.entries(score).map(([name, value]) =>
      typeof value === "number" ? `${name} ${Number.isInteger(value) ? value : value.toFixed(3)}` : value,
    );
    log(`continuity: ${shown.join(", ")}`);
    rows.push(...rowsOf(score, judged));
  }
  return rows;
}
