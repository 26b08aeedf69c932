/**
 * `bench wire --only prefix`: 200 turns of each harness, alone with its own compaction and under `pagurus wire` with the
 * engine, in the same window: what a provider's cache would hit of the requests, and what their input would cost. The
 * figures also depend on when each side compacts (the row of the mean context), and on the content of its summaries: Claude
 * Code's prompt requires a list of all messages of the user, which our engine keeps too.
 */
import { rmSync } from "node:fs";
import { startServer, type RecordedRequest, type ReplyStep } from "../../test/servers/server.ts";
import { withPeer, type BenchOptions, type BenchRow } from "../report.ts";
import { CacheCounter } from "./cache.ts";
import { ARMS, makePlace, type Arm } from "./prefix-harnesses.ts";
import { fillFolder, promptOf, summaryFor, turnOf, Workload } from "./workload.ts";

const TURNS = 200;
const QUICK_TURNS = 12;
/** Sentences in the summary requests of Claude Code, Codex, and our engine. */
const SUMMARY_PROMPTS = [
  "CRITICAL: Respond with TEXT ONLY",
  "CONTEXT CHECKPOINT COMPACTION",
  "You write the summary that replaces",
];

function asksForSummary({ text }: RecordedRequest): boolean {
  return SUMMARY_PROMPTS.some((prompt) => text.includes(prompt));
}

/** A conversation's figures in one arm. */
async function measure(arm: Arm, turns: number, wrapped: boolean): Promise<CacheCounter> {
  const place = makePlace();
  const api = wrapped ? arm.api : (arm.alone ?? arm.api);
  const counter = new CacheCounter(api);
  const workload = new Workload();
  fillFolder(place.cwd);
  const server = await startServer({
    protocol: api === "google-generative-ai" ? "google" : api,
    script: (request, index): ReplyStep => {
      // Megabytes each, and not used again.
      const before = server.requests.at(-2);
      if (before) Object.assign(before, { body: {}, text: "" });
      const isCompaction = asksForSummary(request);
      if (isCompaction || arm.isMain(request)) counter.take(request.body, isCompaction);
      if (isCompaction) return { text: summaryFor(request.text) };
      // A title, or a suggestion.
      if (!arm.isMain(request)) return { text: "Looking after berths" };
      const { text, wishes } = workload.next(turnOf(request.text));
      const toolCalls = wishes.map((wish, at) => ({ id: `call_${index}_${at}`, ...arm.call(wish, place) }));
      return { text, ...(toolCalls.length === 0 ? {} : { toolCalls }) };
    },
  });
  try {
    const prompts = Array.from({ length: turns }, (_, turn) => promptOf(turn));
    await arm.run({ place, server, prompts, wrapped });
    return counter;
  } finally {
    await server.close();
    rmSync(place.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

function percent({ bytes, cachedBytes }: CacheCounter["main"]): number {
  return bytes === 0 ? 0 : (cachedBytes / bytes) * 100;
}

function cost({ main, compaction }: CacheCounter): number {
  return main.cost + compaction.cost;
}

/** Tokens of a request at four characters each. */
function mean({ bytes, requests }: CacheCounter["main"]): number {
  return requests === 0 ? 0 : bytes / 4 / requests;
}

function rowsOf(
  { name, alone: other }: Arm,
  turns: number,
  ours: CacheCounter,
  alone: CacheCounter,
): BenchRow[] {
  const peer = other === undefined ? "harness alone" : `harness alone, ${other}`;
  const row = (measure: string, unit: string, of: (counter: CacheCounter) => number): BenchRow =>
    withPeer({ measure: `${name}: ${measure}`, value: of(ours), unit }, peer, of(alone));
  const input = row(`input cost of ${turns} turns`, "uncached tokens", cost);
  return [
    row("bytes that a cache has", "%", ({ main }) => percent(main)),
    { ...input, target: "< harness alone", ok: cost(ours) < cost(alone) },
    row("of that for compactions", "uncached tokens", ({ compaction }) => compaction.cost),
    row("requests for compactions", "requests", ({ compaction }) => compaction.requests),
    row("mean context of its requests", "tokens", ({ main }) => mean(main)),
    row("its requests", "requests", ({ main }) => main.requests),
  ];
}

export async function prefixRows({ quick, log }: BenchOptions): Promise<BenchRow[]> {
  const turns = quick ? QUICK_TURNS : TURNS;
  const rows: BenchRow[] = [];
  const measured = new Map<string, CacheCounter>();
  for (const arm of ARMS) {
    const key = arm.alone ?? arm.api;
    let alone = measured.get(key);
    if (!alone) {
      log(`${arm.name}: ${turns} turns alone`);
      alone = await measure(arm, turns, false);
      measured.set(key, alone);
    }
    log(`${arm.name}: ${turns} turns under pagurus wire`);
    const ours = await measure(arm, turns, true);
    rows.push(...rowsOf(arm, turns, ours, alone));
  }
  return rows;
}
