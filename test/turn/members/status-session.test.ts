/** Status of a session: seam, epoch, compactions of every lane, errors. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { statusText } from "../../../packages/host/src/command/status-text.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentHarness } from "../../../packages/contract/src/harness/harness.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { Bench, eventsOf } from "../in-process.ts";
import { startWith } from "../start-with.ts";

/** Names an epoch, and has no status of its own. */
const EPOCHS: ContextEngine = {
  info: { id: "epochs", name: "Epochs", ownsCompaction: true },
  ingest: async () => ({ ingested: true }),
  assemble: async ({ messages }) => ({
    messages,
    estimatedTokens: 10,
    contextProjection: { mode: "thread_bootstrap", epoch: "ep7" },
  }),
  compact: async () => ({
    ok: true,
    compacted: true,
    result: { summary: "S", firstKeptEntryId: "", tokensBefore: 90, tokensAfter: 40 },
  }),
};

/** A runtime with threads, which compacts one in the middle of each turn. */
const SHELL: AgentHarness = {
  id: "shell",
  label: "Shell",
  contract: "pagurus.harness/2",
  execution: { kind: "external" },
  seam: "thread",
  capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
  keepsContext: true,
  supports: () => ({ supported: true }),
  start: startWith(async (turn) => {
    await turn.context.assemble();
    turn.thread.bind({ nativeId: "thread-9", state: { turns: 1 } });
    turn.context.receipt({});
    turn.context.receipt({ seam: "projection" });
    const about = { lane: "harness", trigger: "threshold", backend: "shell", ownsCompaction: false } as const;
    await turn.io.emit({ type: "compaction.started", ...about, tokensBefore: 900 });
    const tokens = { tokensBefore: 900, tokensAfter: 70 };
    await turn.io.emit({ type: "compaction.completed", ...about, ...tokens, handledBy: "shell" });
    const content = [{ type: "text" as const, text: "Answer." }];
    await turn.io.emit({ type: "message", message: { role: "assistant", content, stopReason: "stop" } });
    return { stopReason: "stop", usage: { input: 1, output: 1, totalTokens: 2 } };
  }),
  compact: () => Promise.resolve({ compacted: true, tokensBefore: 70, tokensAfter: 7 }),
};

describe("the status of a session", () => {
  let bench: Bench;
  let fails = false;
  beforeEach(async () => {
    fails = false;
    bench = await Bench.with(() => (fails ? { status: 400 } : { text: "Answer." }));
  });
  afterEach(() => bench.end());

  const inShell = (engine?: ContextEngine): Promise<Pagurus> =>
    bench.host({
      ...(engine ? { engine } : {}),
      defaults: { models: { "test/model": { agentRuntime: { id: "shell" } } } },
      more: { harnesses: [SHELL] },
    });

  it("has the seam and nothing of a request before the first turn", async () => {
    const pagurus = await bench.host();
    const report = await pagurus.status({ cwd: bench.root });
    assert.deepEqual([report.seam, report.lastRequest], [{ usual: "embedded" }, undefined]);
    assert.match(statusText(report), /^Seam: +embedded$/m);
    assert.doesNotMatch(statusText(report), /Last sent|Last errors/);
  });

  it("has the epoch that the engine named in the newest request, by whichever runtime", async () => {
    const embedded = await bench.host({ engine: EPOCHS });
    await bench.ask(embedded, "One");
    const report = await embedded.status({ cwd: bench.root });
    const { runtime, seam, engine, epoch, model } = report.lastRequest ?? {};
    assert.deepEqual(
      [runtime, seam, engine, epoch, model],
      ["embedded", "embedded", "epochs", "ep7", "test/model"],
    );
    assert.match(
      statusText(report),
      /^Last sent: +by embedded, seam embedded, engine epochs, epoch ep7, \d{4}-/m,
    );
    await embedded.close();
    const shell = await inShell(EPOCHS);
    await bench.ask(shell, "Two");
    const there = await shell.status({ cwd: bench.root });
    assert.deepEqual(there.seam, { usual: "thread", boundTo: "thread-9" });
    assert.match(statusText(there), /^Seam: +thread, bound to thread thread-9$/m);
    // The newest request used another seam than usual.
    assert.match(statusText(there), /^Last sent: +by shell, seam projection, engine epochs, epoch ep7, /m);
  });

  it("has the compactions of a runtime's own thread besides others, by lane and backend", async () => {
    const pagurus = await inShell();
    await bench.ask(pagurus, "One");
    await bench.ask(pagurus, "Two");
    await pagurus.compact({ cwd: bench.root });
    const report = await pagurus.status({ cwd: bench.root });
    assert.equal(report.compactions, 3);
    assert.deepEqual(report.compactionsBy, [{ lane: "harness", handledBy: "shell", count: 3 }]);
    const [newest, inTurn] = report.recentCompactions;
    assert.deepEqual(
      [newest?.lane, newest?.trigger, newest?.handledBy, newest?.tokensBefore, newest?.tokensAfter],
      ["harness", "manual", "shell", 70, 7],
    );
    assert.deepEqual([inTurn?.trigger, inTurn?.tokensAfter], ["threshold", 70]);
    const text = statusText(report);
    assert.match(text, /^Compacted: +3 times$/m);
    assert.deepEqual([report.seam?.keepsContext, report.context.next], [true, undefined]);
    assert.match(text, /^Compacts: +by shell itself, when it finds its thread full$/m);
    assert.match(text, /by the runtime, manual, by shell: 70 → 7 tokens$/m);
    const mixed = {
      ...report,
      compactionsBy: [...(report.compactionsBy ?? []), { lane: "queued", count: 2 }],
    };
    assert.match(statusText(mixed), /^Compacted: +3 times \(3 by the runtime by shell, 2 between turns\)$/m);
  });

  it("has the last errors, the newest first, also when a later turn went well", async () => {
    const pagurus = await bench.host();
    await bench.ask(pagurus, "One");
    fails = true;
    for (const prompt of ["Two", "Three"]) await eventsOf(pagurus.run({ prompt, cwd: bench.root }));
    fails = false;
    await bench.ask(pagurus, "Four");
    const report = await pagurus.status({ cwd: bench.root });
    assert.equal(report.lastTurn?.outcome, "completed");
    assert.deepEqual(
      report.lastErrors?.map(({ code }) => code),
      ["model_bad_request", "model_bad_request"],
    );
    const [first, second] = report.lastErrors ?? [];
    assert.ok(first && second && first.timestamp >= second.timestamp && first.turnId !== second.turnId);
    assert.match(statusText(report), /^Last errors: +\d{4}-[^\n]* model_bad_request \([^)]+\)$/m);
  });
});
