/**
 * `bench compaction`: long sessions in a window of 32,000 tokens, with a scripted model that checks each request: how often
 * which lane compacts, what it saves and takes, how stable the prefix of the requests is, and the use of memory.
 */
import { longRun, median, memoryGrowth, turnsBetween } from "../../test/turn/long/job.ts";
import type { LongRunOptions, Report } from "../../test/turn/long/job.ts";
import type { Conversation } from "../../test/turn/long/conversation.ts";
import { withTarget, type BenchOptions, type BenchRow } from "../report.ts";

interface Case extends Omit<LongRunOptions, "turns"> {
  label: string;
}

const MIXED = { shape: "mixed", bias: 1.15 } as const;
const CASES: Case[] = [
  { ...MIXED, label: "legacy, chat completions", engine: "legacy" },
  { ...MIXED, label: "intercepting engine", engine: "intercepting" },
  { ...MIXED, label: "owning engine", engine: "owning" },
  { ...MIXED, label: "legacy, responses", engine: "legacy", protocol: "openai-responses" },
  { ...MIXED, label: "legacy, anthropic", engine: "legacy", protocol: "anthropic-messages" },
  { ...MIXED, label: "legacy, google", engine: "legacy", protocol: "google" },
  // With 50 % more text two of the mixed run's largest turns would fill what a compaction frees.
  { label: "legacy, provider counts 50 % more", engine: "legacy", shape: "between", bias: 1.5 },
];
const QUICK_CASES = CASES.slice(0, 1);

const TURNS = 3_000;
const QUICK_TURNS = 120;
const MEMORY_FROM = 200;
const QUICK_MEMORY_FROM = 60;
/** Turns of the run whose fourth one has 600 rounds. */
const ONE_TURN = 6;

export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const { quick, log } = options;
  const rows: BenchRow[] = [];
  for (const { label, ...settings } of quick ? QUICK_CASES : CASES) {
    const turns = quick ? QUICK_TURNS : TURNS;
    const memoryFrom = quick ? QUICK_MEMORY_FROM : MEMORY_FROM;
    log(`${label}: ${turns} turns`);
    const { report, conversation } = await longRun({ ...settings, turns, memoryFrom });
    rows.push(
      ...commonRows(label, report, conversation, turns),
      ...betweenRows(label, report),
      ...memoryRows(label, report, memoryFrom),
    );
  }
  if (quick) return rows;
  const label = "one turn of 600 rounds";
  log(label);
  const { report, conversation } = await longRun({
    engine: "legacy",
    shape: "one-turn",
    bias: 1.15,
    turns: ONE_TURN,
  });
  return [...rows, ...commonRows(label, report, conversation, ONE_TURN), ...roundRows(label, conversation)];
}

function commonRows(label: string, report: Report, conversation: Conversation, turns: number): BenchRow[] {
  const { compactions, requestTokens, sharedTokens } = report;
  const inLane = (lane: string): number => compactions.filter((made) => made.lane === lane).length;
  const saved = compactions.map(({ tokensBefore, tokensAfter }) => tokensBefore - tokensAfter);
  const row = (what: string, value: number, unit: string): BenchRow => ({
    measure: `${label}: ${what}`,
    value,
    unit,
  });
  return [
    withTarget(
      row("invalid requests, failures, lost inputs", wrong(report, conversation, turns), ""),
      "<=",
      0,
    ),
    row("compactions, queued", inLane("queued"), ""),
    row("compactions, in-attempt", inLane("in-attempt"), ""),
    row("tokens saved by a compaction, p50", median(saved), "tokens"),
    row("a compaction whose model answers at once, p50", median(compactions.map(({ ms }) => ms)), "ms"),
    row("largest request, as the provider counts", conversation.largest, "tokens"),
    row("tokens of a request that the one before had too", (100 * sharedTokens) / requestTokens, "%"),
    row(
      "wall time of a request, all that the host does for it included",
      report.wallMs / conversation.requests,
      "ms",
    ),
  ];
}

function wrong(report: Report, conversation: Conversation, turns: number): number {
  const { degraded, failedCompactions, notCompleted, repeatedCalls, inputsInTranscript } = report;
  const faults = [conversation.problems, degraded, failedCompactions, notCompleted];
  return faults.reduce((sum, list) => sum + list.length, repeatedCalls + turns - inputsInTranscript);
}

function betweenRows(label: string, report: Report): BenchRow[] {
  const { compactions } = report;
  const between = turnsBetween(compactions);
  const grown = compactions
    .slice(1)
    .map(({ tokensBefore }, index) => tokensBefore - (compactions[index]?.tokensAfter ?? 0));
  const row = (what: string, value: number, unit: string): BenchRow => ({
    measure: `${label}: ${what}`,
    value,
    unit,
  });
  return [
    withTarget(row("turns between two compactions, fewest", Math.min(...between), "turns"), ">=", 5),
    row("turns between two compactions, p50", median(between), "turns"),
    row("growth from one compaction to the next, least", Math.min(...grown), "tokens"),
  ];
}

function roundRows(label: string, { cuts }: Conversation): BenchRow[] {
  const between = cuts.slice(1).map(({ request }, index) => request - (cuts[index]?.request ?? 0));
  const measure = `${label}: rounds between two compactions, fewest`;
  return [withTarget({ measure, value: Math.min(...between), unit: "rounds" }, ">=", 20)];
}

/** Memory after a garbage collection, and as seen from outside: V8 lets its young generation grow to the peak demand. */
function memoryRows(label: string, report: Report, memoryFrom: number): BenchRow[] {
  const { from, growth } = memoryGrowth(report, memoryFrom);
  const settled = report.memory.filter(({ settledMiB }) => settledMiB !== undefined);
  // The first sample around each of the two turns is from before a collection.
  const fromRunning = settled[0]?.runningMiB ?? NaN;
  const toRunning = settled.find(({ turn }) => turn > memoryFrom)?.runningMiB ?? NaN;
  const row = (what: string, value: number): BenchRow => ({
    measure: `${label}: ${what}`,
    value,
    unit: "MiB",
  });
  return [
    row(`resident memory after ${memoryFrom} turns, spare pages returned`, from),
    withTarget(row("its growth to the end", growth), "<=", 20),
    row(`resident memory after ${memoryFrom} turns as it runs`, fromRunning),
    row("its growth to the end as it runs", toRunning - fromRunning),
  ];
}
