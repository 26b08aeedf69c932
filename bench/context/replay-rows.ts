/** The replay of the recorded sessions as rows: baselines compared with the published figures, engines with the baselines. */
import { type BenchOptions, type BenchRow, withPeer, withTarget } from "../report.ts";
import { engineContextPolicy } from "../../packages/replay/src/engine/engine-policy.ts";
import { measure, type Measured } from "../../packages/replay/src/prompt-meter.ts";
import type { ContextPolicy } from "../../packages/replay/src/context-policy.ts";
import { compaction } from "./policies/compaction.ts";
import type { HeadStyle } from "./policies/head.ts";
import { lazyDag } from "./policies/lazy-dag.ts";
import { appendOnly, batchedTrim, slidingWindow } from "./policies/windows.ts";
import { PUBLISHED, PUBLISHED_CALLS } from "./published.ts";
import { recordedSessions } from "./replay/claude-code.ts";
import { asOneAgent, tokensOf, type RecordedSession } from "../../packages/replay/src/recorded-session.ts";
import { WantedStrings } from "../../packages/replay/src/wanted-strings.ts";
import { ENGINES } from "./subjects.ts";

const WINDOWS = [200_000, 64_000] as const;
const PEER = "published";

const STYLES: readonly HeadStyle[] = [
  { writing: "blank", strings: false },
  { writing: "blank", strings: true },
  { writing: "extract", strings: false },
  { writing: "extract", strings: true },
];

function simulated(window: number): ContextPolicy[] {
  return [
    slidingWindow(window),
    batchedTrim(window),
    ...STYLES.map((style) => compaction(window, style)),
    ...STYLES.map((style) => lazyDag(window, style)),
  ];
}

/** Targets of our engines, by window. */
const TARGETS: Readonly<Record<number, { efficiency: number; inputCost: number; far: number }>> = {
  200_000: { efficiency: 98, inputCost: 0.12, far: 80 },
  64_000: { efficiency: 97, inputCost: 0.175, far: 55 },
};

interface Result extends Measured {
  /** The window's short name and the policy's. */
  label: string;
}

/** One line for people: a policy's results. */
function lineOf(result: Result): string {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`.padStart(8);
  return [
    result.label.padEnd(58),
    `${result.cost.toFixed(2)} M`.padStart(8),
    percent(result.cacheEfficiency),
    result.effectiveInputCost.toFixed(3).padStart(7),
    percent(result.prefixStability),
    `${Math.round(result.meanContext / 1_000)}k`.padStart(6),
    percent(result.farCoverage),
    percent(result.coverage),
    String(result.compactions).padStart(4),
    String(faultsOf(result)).padStart(4),
  ].join(" ");
}

const HEAD = [
  "policy".padEnd(58),
  ...["cost", "cache", "input", "prefix"].map((name, index) => name.padStart(index === 2 ? 7 : 8)),
  ...["mean", "far", "all", "comp", "bad"].map((name, index) => name.padStart([6, 8, 8, 4, 4][index] ?? 0)),
].join(" ");

/** Faulty prompts: M6, M7, M8, and a prefix that breaks within an epoch. */
function faultsOf(result: Measured): number {
  const { brokenPrefixes, invalidPrompts, lackingLiveInput, duplicates, overLimit } = result;
  return brokenPrefixes + invalidPrompts + lackingLiveInput + duplicates + overLimit;
}

function measuresOf(result: Result): Record<"cost" | "efficiency" | "inputCost" | "mean" | "far", BenchRow> {
  const row = (measure: string, value: number, unit: string): BenchRow => ({
    measure: `${result.label}: ${measure}`,
    value,
    unit,
  });
  return {
    cost: row("cost", result.cost, "Mtok-eq"),
    efficiency: row("cache efficiency", 100 * result.cacheEfficiency, "%"),
    inputCost: row("effective input cost", result.effectiveInputCost, "of uncached"),
    mean: row("mean context", result.meanContext / 1_000, "k tokens"),
    far: row("far strings visible", 100 * result.farCoverage, "%"),
  };
}

function othersOf(result: Result): BenchRow[] {
  const row = (measure: string, value: number, unit: string): BenchRow => ({
    measure: `${result.label}: ${measure}`,
    value,
    unit,
  });
  const faults = row("prompts broken, invalid, lacking, twice, over", faultsOf(result), "prompts");
  return [
    row("cost with a cache of five minutes", result.costOfShortCache, "Mtok-eq"),
    row("prefix stability", 100 * result.prefixStability, "%"),
    row("all strings visible", 100 * result.coverage, "%"),
    row("largest context", result.largestContext / 1_000, "k tokens"),
    row("compactions", result.compactions, ""),
    withTarget(faults, "<=", 0),
  ];
}

/** Costs are compared for the same number of calls. */
function simulatedRows(result: Result): BenchRow[] {
  const rows = measuresOf(result);
  const known = PUBLISHED[result.label];
  if (!known) return [...Object.values(rows), ...othersOf(result)];
  const cost = (known.cost * result.calls) / PUBLISHED_CALLS;
  return [
    withPeer(rows.cost, `${PEER}, for as many calls`, cost),
    withPeer(rows.efficiency, PEER, 100 * known.cacheEfficiency),
    rows.inputCost,
    withPeer(rows.mean, PEER, known.meanContext / 1_000),
    withPeer(rows.far, PEER, 100 * known.farCoverage),
    ...othersOf(result),
  ];
}

/** The cheapest policies of a window: of all, and of those that summarize what they remove. */
interface Cheapest {
  all: Result;
  summarizing: Result;
}

function cheapestOf(results: readonly Result[]): Cheapest | undefined {
  const [all] = results.toSorted((a, b) => a.cost - b.cost);
  const [summarizing] = results
    .filter(({ policy }) => policy.includes("summary"))
    .toSorted((a, b) => a.cost - b.cost);
  return all && summarizing && { all, summarizing };
}

function engineRows(result: Result, window: number, judged: boolean, best: Cheapest): BenchRow[] {
  const rows = measuresOf(result);
  const cheapest = best.all;
  const cost = withPeer(rows.cost, `cheapest of the window: ${cheapest.policy}`, cheapest.cost);
  const beside: BenchRow = { ...rows.cost, measure: `${result.label}: cost beside summaries only` };
  const summarizing = withPeer(beside, best.summarizing.policy, best.summarizing.cost);
  const target = TARGETS[window];
  if (!judged || !target) return [...Object.values({ ...rows, cost, summarizing }), ...othersOf(result)];
  return [
    withTarget(cost, "<=", Number(cheapest.cost.toFixed(3))),
    summarizing,
    withTarget(rows.efficiency, ">=", target.efficiency),
    withTarget(rows.inputCost, "<=", target.inputCost),
    rows.mean,
    withTarget(rows.far, ">=", target.far),
    ...othersOf(result),
  ];
}

function sessionRows(session: RecordedSession, wanted: WantedStrings): BenchRow[] {
  const tokens = session.messages.reduce((sum, message) => sum + tokensOf(session, message), 0);
  let far = 0;
  for (const call of session.calls) far += wanted.of(call).filter((string) => string.far).length;
  const row = (measure: string, value: number, unit: string): BenchRow => ({
    measure: `recorded sessions: ${measure}`,
    value,
    unit,
  });
  return [
    row("calls", session.calls.length, ""),
    row("messages", session.messages.length, ""),
    row("tokens", tokens / 1_000, "k tokens"),
    row("provider tokens for each estimated one", session.factor, ""),
    row("far strings typed", far, ""),
  ];
}

/** The judged engines on each session alone, compared with the cheapest policy of the window: no setting is fit to all three. */
async function aloneRows(
  sessions: readonly RecordedSession[],
  log: BenchOptions["log"],
): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [index, session] of sessions.entries()) {
    const wanted = await WantedStrings.of(session);
    for (const window of WINDOWS) {
      const label = `session ${index + 1} alone, ${window / 1_000}k`;
      const results: Result[] = [];
      for (const policy of simulated(window))
        results.push({ ...(await measure(policy, session, wanted)), label });
      const best = cheapestOf(results)?.all;
      for (const { name, create, settings } of ENGINES.filter(({ judged }) => judged)) {
        const policy = engineContextPolicy(`engine ${name}`, create, {
          ...settings(window)["default"],
          window,
        });
        const result = { ...(await measure(policy, session, wanted)), label: `${label} ${policy.name}` };
        log(lineOf(result));
        const { cost, ...others } = measuresOf(result);
        const peer = best && withPeer(cost, `cheapest of the window: ${best.policy}`, best.cost);
        rows.push(peer ?? cost, ...Object.values(others));
      }
    }
  }
  return rows;
}

/** Windows, policies and engines in their settings. `quick`: the first session and the small window only. */
export async function replayRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const recorded = recordedSessions();
  if (!recorded) {
    log("context: the recorded sessions are not there, so nothing is replayed");
    return [];
  }
  const session = asOneAgent("recorded sessions", quick ? recorded.main.slice(0, 1) : recorded.main);
  const wanted = await WantedStrings.of(session);
  const rows = sessionRows(session, wanted);
  log(HEAD);
  const run = async (policy: ContextPolicy, label: string): Promise<Result> => {
    const result = { ...(await measure(policy, session, wanted)), label };
    log(lineOf(result));
    return result;
  };
  rows.push(...simulatedRows(await run(appendOnly(), "append-only")));
  for (const window of quick ? WINDOWS.slice(-1) : WINDOWS) {
    const short = `${window / 1_000}k`;
    const results: Result[] = [];
    for (const policy of simulated(window)) {
      const result = await run(policy, `${short} ${policy.name}`);
      rows.push(...simulatedRows(result));
      results.push(result);
    }
    const best = cheapestOf(results);
    for (const { name, create, judged, settings } of ENGINES) {
      for (const [setting, options] of Object.entries(settings(window))) {
        const policy = engineContextPolicy(`engine ${name}, ${setting}`, create, { ...options, window });
        const result = await run(policy, `${short} ${policy.name}`);
        if (best) rows.push(...engineRows(result, window, judged, best));
      }
    }
  }
  if (!quick) rows.push(...(await aloneRows(recorded.main, log)));
  return rows;
}
