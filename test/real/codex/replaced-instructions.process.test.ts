/** `npm run prove -- contract.7`: instructions that change with each turn are bounded and counted. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import { reservedTokens } from "../../../packages/core/src/compaction/policy.ts";
import { createLegacyEngine } from "../../../packages/host/src/engines/legacy/legacy-engine.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { messagesTokens } from "../../../packages/core/src/tokens/message-tokens.ts";
import { FULL } from "../../runner/short-form.ts";
import { CodexBench, developerTexts } from "./codex-bench.ts";

const WINDOW = 64_000;
const TURNS = FULL ? 40 : 8;
const SENTENCE = "The harbour office keeps a list of ships, cargoes and berths, and corrects it by hand. ";

/** About `bytes` of text that differs with each index. */
function varying(index: number, bytes: number): string {
  return `State ${index}.\n${`${SENTENCE}(${index}) `.repeat(Math.ceil(bytes / (SENTENCE.length + 4)))}`.slice(
    0,
    bytes,
  );
}

/** One epoch, and an addition that is never twice the same. */
function varyingEngine(bytes: number): ContextEngine {
  const legacy = createLegacyEngine();
  let calls = 0;
  return {
    info: { id: "varying", name: "Varying", ownsCompaction: true },
    ingest: () => Promise.resolve({ ingested: true }),
    assemble: ({ messages }) => {
      calls += 1;
      return Promise.resolve({
        messages,
        estimatedTokens: messagesTokens(messages),
        systemPromptAddition: varying(calls, bytes),
        contextProjection: { mode: "thread_bootstrap", epoch: "one" },
      });
    },
    compact: (params) => legacy.compact(params),
  };
}

interface Seen {
  /** Input tokens as the provider counts them, and as the host does: the gauge, and what its budget leaves out. */
  provider: number;
  host: number;
  stale: number;
}

class Measured {
  readonly seen: Seen[] = [];
  readonly events: TurnEvent[] = [];

  add(bench: CodexBench, events: readonly TurnEvent[]): void {
    this.events.push(...events);
    const last = events.at(-1);
    assert.ok(last?.type === "turn.completed");
    assert.ok(last.context);
    const { tokens, budget } = last.context;
    const answer = messagesTokens(
      events.flatMap((event) => (event.type === "message" ? [event.message] : [])),
    );
    const fixed = WINDOW - reserve - budget;
    const texts = developerTexts(bench.request(-1));
    this.seen.push({
      provider: countOf(bench.request(-1).text),
      host: tokens - answer + fixed,
      stale: texts.filter((text) => text.includes("State ")).length - 1,
    });
  }

  check(): void {
    const compactions = this.events.filter(({ type }) => type.startsWith("compaction"));
    assert.deepEqual(compactions, [], "the conversation is never compacted");
    for (const [index, { provider, host }] of this.seen.entries()) {
      assert.ok(provider < WINDOW / 2, `request ${index} has ${provider} tokens`);
      const off = Math.abs(host - provider) / provider;
      assert.ok(off <= 0.05, `turn ${index}: the host counts ${host}, the provider ${provider}`);
    }
  }
}

/** Both engines own their compaction. */
const reserve = reservedTokens(WINDOW, undefined, { ownsCompaction: true });
const countOf = (text: string): number => estimateTokens(text);

describe("instructions that change with each turn on Codex", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it(`are bounded and counted over ${TURNS} turns, without a compaction`, async () => {
    bench = await CodexBench.with((request, index) => ({
      text: `Answer ${index}.`,
      usage: { input: countOf(request.text), output: 10 },
    }));
    const pagurus = await bench.host({ engine: varyingEngine(24_000), contextWindow: WINDOW });
    const measured = new Measured();
    for (let turn = 0; turn < TURNS; turn += 1)
      measured.add(bench, await bench.ask(pagurus, `Question ${turn}?`));
    measured.check();
  });

  it(`are bounded and counted where MEMORY.md is edited between ${TURNS} turns, under lossless`, async () => {
    bench = await CodexBench.with((request, index) => ({
      text: `Answer ${index}.`,
      usage: { input: countOf(request.text), output: 10 },
    }));
    const pagurus = await bench.host({ contextWindow: WINDOW });
    const measured = new Measured();
    for (let turn = 0; turn < TURNS; turn += 1) {
      writeFileSync(join(bench.cwd, "MEMORY.md"), varying(turn, 6_000));
      measured.add(bench, await bench.ask(pagurus, `Question ${turn}?`));
    }
    measured.check();
  });
});
