/** Codex's own compactions with `wire`, forced by its settings: answered by the engine, or by the model where it does not. */
import { turnMetadata } from "./turn-metadata.ts";
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import type { CompactionInterceptRequest } from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { RecordedRequest } from "../../servers/server.ts";
import { CodexBench, conversation } from "./codex-bench.ts";

const ENGINE_SUMMARY = "The engine says what was.";
const MODEL_SUMMARY = "The model says what was.";

type Intercept = NonNullable<ContextEngine["interceptCompaction"]>;

/** Returns its input unchanged, and answers compactions as configured. */
function engineOf(intercept: Intercept): ContextEngine {
  return {
    info: { id: "answers", name: "Answers", interceptsCompaction: true, assembleScope: "call" },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages }) => ({ messages, estimatedTokens: 0 }),
    compact: async () => ({ ok: true, compacted: false, reason: "no" }),
    interceptCompaction: intercept,
  };
}

const answers: Intercept = async ({ firstKeptEntryId, tokensBefore }) => ({
  handled: true,
  summary: ENGINE_SUMMARY,
  firstKeptEntryId,
  tokensBefore,
});

function isCompaction(request: RecordedRequest): boolean {
  return turnMetadata(request).includes('"request_kind":"compaction"');
}

describe("a compaction of Codex's on the wire", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  /** The usage of each answer fills the window, so that Codex compacts before each turn but the first. */
  async function open(intercept: Intercept, timeoutSeconds = 30): Promise<Pagurus> {
    bench = await CodexBench.with((request, index) =>
      isCompaction(request)
        ? { text: MODEL_SUMMARY }
        : { text: `Answer ${index}.`, usage: { input: 9_000, output: 10 } },
    );
    writeFileSync(join(bench.root, "codex", "config.toml"), "model_auto_compact_token_limit = 5000\n");
    const engine = engineOf(intercept);
    const config = bench.config({ seam: "wire", engine }) as {
      agents: { defaults: Record<string, unknown> };
      plugins: { entries: { codex: { config: Record<string, unknown> } } };
    };
    config.plugins.entries.codex.config["compaction"] = "own";
    config.agents.defaults["compaction"] = { timeoutSeconds };
    return bench.host({ engine, more: { config } });
  }

  async function three(pagurus: Pagurus): Promise<TurnEvent[]> {
    const events: TurnEvent[] = [];
    for (const prompt of ["First?", "Second?", "Third?"]) events.push(...(await bench.ask(pagurus, prompt)));
    return events;
  }

  /** Lane and handler of each reported compaction. */
  const reported = (events: readonly TurnEvent[]): unknown[] =>
    events.flatMap((event) =>
      event.type === "compaction.completed" ? [[event.lane, event.handledBy, event.backend]] : [],
    );

  it("is answered by the engine: no model is called, and the model still sees every message", async () => {
    const asked: CompactionInterceptRequest[] = [];
    const pagurus = await open((request) => (asked.push(request), answers(request)));
    const events = await three(pagurus);
    assert.equal(asked.length, 2);
    assert.deepEqual(
      asked.map(({ messages }) => messages.map(({ role }) => role)),
      [
        ["user", "assistant"],
        ["user", "assistant", "user", "assistant"],
      ],
    );
    assert.deepEqual(
      asked.map(({ backend, trigger }) => [backend, trigger]),
      [
        ["codex", "threshold"],
        ["codex", "threshold"],
      ],
    );
    assert.equal(bench.server.requests.length, 3, "zero calls upstream");
    assert.deepEqual(bench.server.requests.filter(isCompaction), []);
    assert.deepEqual(reported(events), [
      ["harness", "answers", "codex"],
      ["harness", "answers", "codex"],
    ]);
    assert.equal(events.filter(({ type }) => type === "compaction.started").length, 2);
    assert.deepEqual(conversation(bench.request(-1)), [
      "user: First?",
      "assistant: Answer 0.",
      "user: Second?",
      "assistant: Answer 1.",
      "user: Third?",
    ]);
    const keys = new Set(bench.server.requests.map(({ body }) => body["prompt_cache_key"]));
    assert.equal(keys.size, 1, "one thread");
    assert.equal((await pagurus.status({ cwd: bench.cwd })).compactions, 2);
  });

  const refusals: [string, Intercept, RegExp | undefined][] = [
    ["does not handle it", async () => ({ handled: false, reason: "not now" }), undefined],
    ["throws", () => Promise.reject(new Error("the engine broke")), /the engine broke/],
    ["hangs", () => new Promise(() => undefined), /took longer than 500 ms/],
  ];
  for (const [what, intercept, reason] of refusals)
    it(`is answered by the model where the engine ${what}, and the session continues`, async () => {
      const pagurus = await open(intercept, 0.5);
      const events = await three(pagurus);
      assert.equal(bench.server.requests.filter(isCompaction).length, 2);
      assert.deepEqual(reported(events), [
        ["harness", "codex-app-server", "codex-app-server"],
        ["harness", "codex-app-server", "codex-app-server"],
      ]);
      const degraded = events.flatMap((event) => (event.type === "context.degraded" ? [event] : []));
      assert.deepEqual(
        degraded.map(({ stage }) => stage),
        reason ? ["intercept", "intercept"] : [],
      );
      for (const each of degraded) assert.match(each.reason, reason ?? /^$/);
      assert.deepEqual(conversation(bench.request(-1)), [
        "user: First?",
        "assistant: Answer 0.",
        "user: Second?",
        "assistant: Answer 2.",
        "user: Third?",
      ]);
      const keys = new Set(bench.server.requests.map(({ body }) => body["prompt_cache_key"]));
      assert.equal(keys.size, 1, "one thread");
    });

  it("is prevented by default, whatever window and limit Codex's own settings have", async () => {
    bench = await CodexBench.with((_request, index) => ({
      text: `Answer ${index}.`,
      usage: { input: 9_000, output: 10 },
    }));
    const limits = "model_context_window = 8000\nmodel_auto_compact_token_limit = 5000\n";
    writeFileSync(join(bench.root, "codex", "config.toml"), limits);
    const pagurus = await bench.host({ seam: "wire", engine: engineOf(answers), contextWindow: 300_000 });
    assert.deepEqual(reported(await three(pagurus)), []);
    assert.equal(bench.server.requests.length, 3);
  });
});
