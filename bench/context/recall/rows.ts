/** Recall as rows: what is found within a budget, by kind of question, for tuning and for reporting separately. */
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { type BenchOptions, type BenchRow, withTarget } from "../../report.ts";
import { baselines } from "./baselines.ts";
import { recallCases, type Split } from "./cases.ts";
import { conversationSets } from "./conversations.ts";
import { reachableAt, recallAt, score, type Recalled, type RecallCase } from "./measure.ts";
import { encodedRecaller, SEARCH } from "./lossless.ts";
import { BUDGETS, ENCODED_PREVIEW, encodedPreview, losslessPreview } from "./preview.ts";
import type { Recaller } from "./recaller.ts";
import { talkBaselines } from "./talk-baselines.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import { RECALLERS } from "../subjects.ts";

const TOOL_CALLS = [1, 3] as const;
const SPLITS: readonly Split[] = ["tuning", "reporting"];

/** What is measured of a set of histories. */
interface Plan {
  budgets: readonly number[];
  /** The measures that are shown for each kind of question. */
  detailed: readonly string[];
  /** Points by which one of ours must be ahead of every baseline; undefined where the lead is only shown. */
  lead(asked: {
    recaller: string;
    what: string;
    split: Split;
    cases: readonly RecallCase[];
  }): number | undefined;
  /** What of ours is measured beside the search. */
  more?(split: Split): Recaller[];
  baselines(): Recaller[];
}

const HISTORIES: Plan = {
  budgets: [4_000, 8_000, 16_000, 32_000],
  detailed: ["within 8k"],
  lead: () => 0.1,
  baselines,
};

/** A budget of which less than this many times is one conversation holds most of it, whatever is found. */
const LONGER = 1.5;

function tokensOf({ messages }: RecallCase): number {
  return messages.reduce((sum, message) => sum + estimateTokens(textOfMessage(message)), 0);
}

/** The median conversation is long enough to say something about a budget. */
function isLong(cases: readonly RecallCase[], budget: number): boolean {
  const sizes = cases.map(tokensOf).toSorted((a, b) => a - b);
  return (sizes[Math.floor(sizes.length / 2)] ?? 0) >= LONGER * budget;
}

/** Points asked on the reporting parts of a preview with the encoder, and of a search within 8k and by three calls; the rest is shown beside them. */
const LEAD = 2;
const SEARCHED = ["within 8k", "by 3 tool calls"];

function conversationLead({ recaller, what, split, cases }: Parameters<Plan["lead"]>[0]): number | undefined {
  if (split === "tuning") return undefined;
  const budget = BUDGETS.find((each) => what === `within ${each / 1_000}k`);
  if (recaller === ENCODED_PREVIEW) return budget !== undefined && isLong(cases, budget) ? LEAD : undefined;
  return recaller === SEARCH && SEARCHED.includes(what) ? LEAD : undefined;
}

const CONVERSATIONS: Plan = {
  budgets: [2_000, 4_000, 8_000, 16_000],
  detailed: ["within 4k", "within 8k", "within 16k"],
  lead: conversationLead,
  baselines: talkBaselines,
  // The encoder was tuned with vectors that were made once; making them takes minutes.
  more: (split) =>
    split === "tuning" ? [losslessPreview()] : [losslessPreview(), encodedRecaller(), encodedPreview()],
};

interface Tally {
  shares: Recalled[];
  tokens: number;
}

/** By recaller, then by what was measured. */
type Tallies = Map<string, Map<string, Tally>>;

function add(tallies: Tallies, recaller: string, what: string, more: Tally): void {
  const of = tallies.get(recaller) ?? new Map<string, Tally>();
  tallies.set(recaller, of);
  const tally = of.get(what) ?? { shares: [], tokens: 0 };
  of.set(what, { shares: [...tally.shares, ...more.shares], tokens: tally.tokens + more.tokens });
}

async function ask(recaller: Recaller, asked: RecallCase, plan: Plan, tallies: Tallies): Promise<void> {
  try {
    await recaller.index(asked.messages);
    const budgets = recaller.isPreview === true ? BUDGETS : plan.budgets;
    for (const budget of budgets) {
      add(tallies, recaller.name, `within ${budget / 1_000}k`, await recallAt(recaller, asked, budget));
    }
    for (const calls of recaller.isPreview === true ? [] : TOOL_CALLS) {
      const what = `by ${calls} tool call${calls === 1 ? "" : "s"}`;
      add(tallies, recaller.name, what, await reachableAt(recaller, asked, calls));
    }
  } finally {
    await recaller.close?.();
  }
}

/** The mean with its interval, and at one budget that of each kind of question. */
function rowsOf(start: string, isDetailed: boolean, { shares, tokens }: Tally): BenchRow[] {
  const row = (measure: string, value: number, unit = "%"): BenchRow => ({
    measure: `${start}: ${measure}`,
    value,
    unit,
  });
  const all = score(
    shares.map(({ found }) => found),
    tokens / Math.max(1, shares.length),
  );
  const kinds = isDetailed ? [...new Set(shares.map(({ category }) => category))].toSorted() : [];
  return [
    row("evidence found", 100 * all.recall),
    row("lower end of 95 %", 100 * all.low),
    row("upper end of 95 %", 100 * all.high),
    row("questions with all of it", 100 * all.allHit),
    row("read for a question", all.tokens, "tokens"),
    ...kinds.map((kind) => {
      const of = shares.filter(({ category }) => category === kind).map(({ found }) => found);
      return row(kind, 100 * score(of, 0).recall);
    }),
  ];
}

function meanOf({ shares }: Tally): number {
  return shares.reduce((sum, { found }) => sum + found, 0) / Math.max(1, shares.length);
}

/** How far a recaller of ours is ahead of every baseline at every budget. Percentage points. */
function leadRows(
  { name: set, split, cases }: Asked,
  tallies: Tallies,
  ours: ReadonlySet<string>,
  plan: Plan,
): BenchRow[] {
  const rows: BenchRow[] = [];
  for (const name of ours) {
    for (const [what, tally] of tallies.get(name) ?? []) {
      const others = [...tallies].filter(([other]) => !ours.has(other));
      const best = Math.max(...others.map(([, of]) => meanOf(of.get(what) ?? { shares: [], tokens: 0 })));
      const value = 100 * (meanOf(tally) - best);
      const measure = `${set}, ${what}, ${name}: ahead of the best baseline`;
      const row = { measure, value, unit: "points" };
      const lead = plan.lead({ recaller: name, what, split, cases });
      rows.push(lead === undefined ? row : withTarget(row, ">=", lead));
    }
  }
  return rows;
}

/** One line for each measure: the mean of every recaller side by side. */
function logTallies(split: string, tallies: Tallies, log: (line: string) => void): void {
  const whats = [...(tallies.values().next().value?.keys() ?? [])];
  for (const what of whats) {
    for (const part of ["fact", "later turns", ""]) {
      const cells = [...tallies].flatMap(([name, of]) => {
        const shares = (of.get(what)?.shares ?? [])
          .filter(({ category }) => category.startsWith(part))
          .map(({ found }) => found);
        const { recall, questions } = score(shares, 0);
        return questions === 0 ? [] : `${name} ${(100 * recall).toFixed(1)} (${questions})`;
      });
      if (cells.length === 0) continue;
      log(`${split}, ${what}, ${part === "" ? "all" : part}: ${cells.join("; ")}`);
    }
  }
}

interface Asked {
  name: string;
  split: Split;
  cases: readonly RecallCase[];
}

async function splitRows(
  { name, split, cases }: Asked,
  plan: Plan,
  log: BenchOptions["log"],
): Promise<BenchRow[]> {
  const tallies: Tallies = new Map();
  const ours = new Set<string>();
  for (const asked of cases) {
    log(`recall: ${asked.name}, ${asked.messages.length} messages, ${asked.questions.length} questions`);
    const own = [...RECALLERS.map((create) => create()), ...(plan.more?.(split) ?? [])];
    for (const { name } of own) ours.add(name);
    for (const recaller of [...plan.baselines(), ...own]) await ask(recaller, asked, plan, tallies);
  }
  logTallies(name, tallies, log);
  const rows = leadRows({ name, split, cases }, tallies, ours, plan);
  for (const [recaller, measured] of tallies)
    for (const [what, tally] of measured)
      rows.push(...rowsOf(`${name}, ${what}, ${recaller}`, plan.detailed.includes(what), tally));
  return rows;
}

/** Sessions of the two splits are disjoint; both are printed. `quick`: few facts, the reporting split only. */
export async function recallRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const split of quick ? SPLITS.slice(-1) : SPLITS) {
    const cases = quick ? recallCases(split, 16).slice(0, 1) : recallCases(split);
    if (cases.length === 0) log(`context: no recordings for recall, ${split}`);
    rows.push(...(await splitRows({ name: split, split, cases }, HISTORIES, log)));
  }
  return rows;
}

/**
 * The same for long conversations of people, each set by itself; joined ones of the reporting split only, since one has hundreds of
 * questions. `quick`: one conversation of each reporting split.
 */
export async function conversationRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const split of quick ? SPLITS.slice(-1) : SPLITS) {
    const sets = conversationSets(split);
    if (sets.length === 0)
      log(`context: no conversations; PAGURUS_BENCH_LOCOMO and PAGURUS_BENCH_REALTALK name their places`);
    for (const { name, cases, isJoined } of sets) {
      if (isJoined && (quick || split === "tuning")) continue;
      const asked = { name: `${name}, ${split}`, split, cases: quick ? cases.slice(0, 1) : cases };
      rows.push(...(await splitRows(asked, CONVERSATIONS, log)));
    }
  }
  return rows;
}
