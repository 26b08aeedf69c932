/** Continuity over scripted jobs as rows, for windows of several sizes. */
import { type BenchOptions, type BenchRow, withTarget } from "../../report.ts";
import { engineContextPolicy } from "../../../packages/replay/src/engine/engine-policy.ts";
import type { ContextPolicy } from "../../../packages/replay/src/context-policy.ts";
import { compaction } from "../policies/compaction.ts";
import { lazyDag } from "../policies/lazy-dag.ts";
import { slidingWindow } from "../policies/windows.ts";
import { ENGINES } from "../subjects.ts";
import { scriptedJob, type JobOptions } from "./job.ts";
import { measureContinuity, type ContinuityScore, type Finding } from "./measure.ts";

interface Setting {
  name: string;
  /** Tokens of the model's window. */
  window: number;
  /** Tokens for the user's messages before any may be removed: about a sixth of what a context has. */
  userShareTokens: number;
  jobs: readonly JobOptions[];
}

/** Longer than a share of all requests together. */
const PASTED = 6_000;
/** Hundreds of files of a project so large that most files are touched once. */
const WIDE = 40;
const LEAST_COMPACTIONS = 8;
const SETTINGS: readonly Setting[] = [
  {
    // What 56k leave next to the recorded prefix of 26k tokens, 32k leave next to one of 8k.
    name: "32k",
    window: 56_000,
    userShareTokens: 2_500,
    jobs: [
      { seed: 11, turns: 4 },
      { seed: 12, turns: 4 },
      { seed: 13, turns: 4, pasted: PASTED },
    ],
  },
  {
    name: "64k",
    window: 64_000,
    userShareTokens: 3_500,
    jobs: [
      { seed: 1, turns: 6 },
      { seed: 2, turns: 6 },
      { seed: 3, turns: 6, pasted: PASTED },
      { seed: 4, turns: 6, hundreds: WIDE },
    ],
  },
  {
    name: "200k",
    window: 200_000,
    userShareTokens: 15_000,
    jobs: [
      { seed: 21, turns: 26 },
      { seed: 22, turns: 26, pasted: PASTED },
      { seed: 23, turns: 26, hundreds: WIDE },
    ],
  },
];
const QUICK: readonly Setting[] = [
  { name: "64k", window: 64_000, userShareTokens: 3_500, jobs: [{ seed: 1, turns: 2 }] },
];

const NAMES: Record<Exclude<Finding, "finishedShownOpen">, string> = {
  lostUserTexts: "the user's words verbatim",
  lostCorrections: "corrections verbatim",
  lostConstraints: "binding sentences of requests",
  lostFiles: "files with their last state",
  lostOpenStep: "the open step, as open",
  lostEffects: "side effects with their outcome",
  lostAbort: "what an abort cut off",
};

function rowsOf(label: string, score: ContinuityScore, judged: boolean): BenchRow[] {
  const row = (measure: string, value: number, unit = ""): BenchRow => ({
    measure: `continuity, ${label}: ${measure}`,
    value,
    unit,
  });
  const whole = (measure: string, value: number): BenchRow => {
    const made = row(measure, 100 * value, "%");
    return judged ? withTarget(made, ">=", 100) : made;
  };
  const none = (measure: string, value: number): BenchRow =>
    judged ? withTarget(row(measure, value), "<=", 0) : row(measure, value);
  const fewest = row("compactions, of the job with the fewest", score.fewestCompactions);
  return [
    row("compactions", score.compactions),
    judged ? withTarget(fewest, ">=", LEAST_COMPACTIONS) : fewest,
    row("compactions inside a turn", score.insideTurns),
    row("contexts checked", score.contexts),
    row("contexts checked in which the user's words exceed their share", score.overShare),
    ...Object.entries(NAMES).map(([finding, name]) => whole(name, score.held[finding as Finding])),
    whole("finished steps and calls not shown as open", score.held.finishedShownOpen),
    none("contexts that are invalid", score.invalid),
    none("contexts that change what was sent in their epoch", score.broken),
    whole("contexts without a finding", score.whole),
  ];
}

/** One line for people, and the first case of each finding. */
function logScore(log: (line: string) => void, label: string, score: ContinuityScore): void {
  const { compactions, contexts, held, invalid, broken, whole, examples } = score;
  const shares = Object.entries(held).map(([name, share]) => `${name} ${(100 * share).toFixed(1)}`);
  const counts = [`${compactions} compactions`, `${contexts} contexts`, ...shares];
  const faults = [`invalid ${invalid}`, `broken ${broken}`, `whole ${(100 * whole).toFixed(1)} %`];
  log(`continuity: ${label}: ${[...counts, ...faults].join(", ")}`);
  for (const [finding, example] of Object.entries(examples)) log(`  ${finding}: ${example.slice(0, 300)}`);
}

interface Subject {
  policy: ContextPolicy;
  judged: boolean;
}

/** From here on every baseline takes minutes, and an engine's setting is not bounded by the budget. */
const LARGE = 100_000;

function subjectsOf(window: number): Subject[] {
  const style = { writing: "extract", strings: true } as const;
  const isLarge = window > LARGE;
  const others = isLarge ? [] : [slidingWindow(window), lazyDag(window, style)];
  const baselines = [compaction(window, style), ...others].map((policy) => ({ policy, judged: false }));
  const engines = ENGINES.flatMap(({ name, create, judged, settings }) =>
    Object.entries(settings(window))
      .slice(0, isLarge ? Infinity : 1)
      .map(([setting, options]) => {
        const engine = `engine ${name}, ${setting}`;
        return { policy: engineContextPolicy(engine, create, { ...options, window }), judged };
      }),
  );
  return [...baselines, ...engines];
}

/** `quick`: one short job. */
export async function continuityRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const { name, window, userShareTokens, jobs } of quick ? QUICK : SETTINGS) {
    const scripted = jobs.map((options) => scriptedJob(options));
    for (const { policy, judged } of subjectsOf(window)) {
      const label = `${name}, ${policy.name}`;
      const score = await measureContinuity(policy, scripted, { userShareTokens });
      logScore(log, label, score);
      rows.push(...rowsOf(label, score, judged));
    }
  }
  return rows;
}
