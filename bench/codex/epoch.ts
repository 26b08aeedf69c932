/** The host's overhead in a turn of Codex: within an epoch, and where an epoch begins with a long history. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import { ENGINE_CONTRACT } from "../../packages/contract/src/version.ts";
import { generateTranscript } from "../generate.ts";
import { withPeer, withTarget, type BenchOptions, type BenchRow } from "../report.ts";
import { BareCodex, type Item } from "./bare.ts";
import { DiskWaits } from "./disk.ts";
import { interleaved, overheadOf, quantile, timed, type Overhead } from "./paired.ts";
import {
  bareEnv,
  codexHost,
  hostTurn,
  makeCodexPlace,
  type CodexPlace,
  type ResponsesEndpoint,
} from "./place.ts";
import { PROMPT, recordTurn, seed, SESSION } from "./record-turn.ts";

const SEED = 7;
/** Messages before the first of the warm turns. */
const BEFORE = 100;
/** Warm-up turns, not counted: they compile and open files. */
const WARM_UP = 10;
/** Items in the history of a new thread. */
const ITEMS = 200;
const WARM_LIMIT_MS = 10;
const CHANGE_LIMIT_MS = 60;
const PEER = "bare driver";

/** Number of messages for as many items of Codex's history (a call in an answer is an item of its own). */
function messagesOf(items: number): number {
  const all = generateTranscript({ seed: SEED, messages: items });
  let count = 0;
  for (const [index, message] of all.entries()) {
    count += message.role === "assistant" ? message.content.filter(isItem).length : 1;
    if (count >= items) return index + 1;
  }
  return items;
}

function isItem({ type }: { type: string }): boolean {
  return type === "text" || type === "toolCall";
}

/** Names another epoch each turn and always the same history, so that only the host's work is measured. */
function renewingEngine(): ContextEngine {
  const messages = generateTranscript({ seed: SEED, messages: messagesOf(ITEMS) });
  let epoch = 0;
  return {
    info: { id: "renewing", name: "A new epoch each turn", contract: ENGINE_CONTRACT },
    ingest: () => Promise.resolve({ ingested: true }),
    assemble: () =>
      Promise.resolve({
        messages,
        estimatedTokens: 100_000,
        contextProjection: { mode: "thread_bootstrap", epoch: String((epoch += 1)) },
      }),
    compact: () => Promise.resolve({ ok: true, compacted: false, reason: "nothing to compact" }),
  };
}

function overheadRows(what: string, overhead: Overhead, limit: number): BenchRow[] {
  const { host, bare, p50, p95 } = overhead;
  return [
    withTarget({ measure: `${what}: host's overhead, p50`, value: p50, unit: "ms" }, "<=", limit),
    { measure: `${what}: host's overhead, p95`, value: p95, unit: "ms" },
    withPeer({ measure: `${what}: turn of the host, p50`, value: host, unit: "ms" }, PEER, bare),
  ];
}

/** Warm turns of one session on one thread, after a hundred messages. */
export async function warmRows(endpoint: ResponsesEndpoint, options: BenchOptions): Promise<BenchRow[]> {
  options.log("warm turns in an epoch");
  const baseUrl = `${endpoint.origin}/v1`;
  const { place, recorded } = await recordTurn(baseUrl, BEFORE);
  const own = makeCodexPlace();
  const bare = await BareCodex.start(place.binary, recorded, bareEnv(place, "bare"));
  const pagurus = await codexHost(own, { baseUrl });
  const disk = new DiskWaits();
  try {
    seed(own, BEFORE);
    const thread = await bare.thread(recorded.items);
    const [asked, after, waits, waited]: [number[], number[], number[], number[]] = [[], [], [], []];
    const pairs = await interleaved(
      options.quick ? 10 : 50,
      WARM_UP,
      async (index) => {
        disk.take();
        const turn = await hostTurn(pagurus, own, SESSION, PROMPT);
        const { count, ms } = disk.take();
        if (index < WARM_UP) return turn.ms;
        asked.push(turn.askedMs);
        after.push(turn.wholeMs - turn.ms);
        waits.push(count);
        waited.push(ms);
        return turn.ms;
      },
      () => timed(() => bare.turn(thread, PROMPT)),
    );
    const row = (measure: string, values: readonly number[], unit: string): BenchRow => ({
      measure: `warm turn: ${measure}, p50`,
      value: quantile(values, 0.5),
      unit,
    });
    return [
      ...overheadRows("warm turn", overheadOf(pairs), WARM_LIMIT_MS),
      row("until Codex is called", asked, "ms"),
      row("after turn.completed", after, "ms"),
      row("fsyncs of the host", waits, "calls"),
      row("in these", waited, "ms"),
    ];
  } finally {
    disk.end();
    await Promise.all([pagurus.close(), bare.end()]);
    for (const each of [place, own]) each.remove();
  }
}

interface Change {
  what: string;
  engine?: ContextEngine;
  /** Messages that the session begins with. */
  messages: number;
  /** Before each turn of the host. */
  before?(place: CodexPlace, index: number): void;
  /** Items by which the host's history grows with a turn. */
  grows: boolean;
}

/** Each turn on a new thread with the history. */
export async function changeRows(endpoint: ResponsesEndpoint, options: BenchOptions): Promise<BenchRow[]> {
  const changes: Change[] = [
    { what: `epoch change, ${ITEMS} items`, engine: renewingEngine(), messages: 0, grows: false },
    {
      what: `new thread with lossless, ${ITEMS} items`,
      messages: messagesOf(ITEMS),
      // The project's instructions are the thread's developer instructions: changed ones start another thread.
      before: ({ workspace }, index) => writeFileSync(join(workspace, "AGENTS.md"), `Edition ${index}.\n`),
      grows: true,
    },
  ];
  const rows: BenchRow[] = [];
  for (const change of changes) rows.push(...(await changed(endpoint, options, change)));
  return rows;
}

async function changed(
  endpoint: ResponsesEndpoint,
  options: BenchOptions,
  { what, engine, messages, before, grows }: Change,
): Promise<BenchRow[]> {
  options.log(what);
  const { place, recorded } = await recordTurn(`${endpoint.origin}/v1`, messages, engine);
  const own = makeCodexPlace();
  const bare = await BareCodex.start(place.binary, recorded, bareEnv(place, "bare"));
  const pagurus = await codexHost(own, {
    baseUrl: `${endpoint.origin}/v1`,
    ...(engine ? { engine } : {}),
  });
  try {
    seed(own, messages);
    const items = [...recorded.items];
    const pairs = await interleaved(
      options.quick ? 5 : 25,
      3,
      async (index) => {
        before?.(own, index);
        return (await hostTurn(pagurus, own, SESSION, PROMPT)).ms;
      },
      async () => {
        let thread = "";
        const ms = await timed(async () => {
          thread = await bare.thread(items);
          await bare.turn(thread, PROMPT);
        });
        // As the host does, but outside of the timing.
        await bare.request("thread/archive", { threadId: thread });
        if (grows) items.push(...turnItems());
        return ms;
      },
    );
    options.log(`${what}: ${recorded.items.length} items at the first, ${items.length} at the last turn`);
    return overheadRows(what, overheadOf(pairs), CHANGE_LIMIT_MS);
  } finally {
    await Promise.all([pagurus.close(), bare.end()]);
    for (const each of [place, own]) each.remove();
  }
}

/** The messages that a turn of the benchmark adds to the history. */
function turnItems(): Item[] {
  return [
    { type: "message", role: "user", content: [{ type: "input_text", text: PROMPT }] },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "The tide is in." }] },
  ];
}
