/** A runtime's own compaction of its thread: after an engine's, and in its place when no engine governs. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { compactionText } from "../../../packages/host/src/command/session-commands.ts";
import type { ContextEngine } from "../../../packages/contract/src/engine/engine.ts";
import type {
  AgentHarness,
  NativeCompactionRequest,
} from "../../../packages/contract/src/harness/harness.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { readBinding } from "../../../packages/host/src/stores/files/bindings.ts";
import { Bench } from "../in-process.ts";
import { startWith } from "../start-with.ts";

/** Owns compaction and keeps it in its own store. */
const OWNER: ContextEngine = {
  info: { id: "owner", name: "Owner", ownsCompaction: true },
  ingest: async () => ({ ingested: true }),
  assemble: async ({ messages }) => ({ messages, estimatedTokens: 10 }),
  compact: async () => ({ ok: true, compacted: true, result: { tokensBefore: 90, tokensAfter: 40 } }),
};

/** A runtime with threads: a turn binds one and answers. */
function shell(compact: AgentHarness["compact"]): AgentHarness {
  return {
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
      turn.thread.bind({ nativeId: "thread", state: { turns: 1 } });
      const content = [{ type: "text" as const, text: "Answer." }];
      await turn.io.emit({ type: "message", message: { role: "assistant", content, stopReason: "stop" } });
      return { stopReason: "stop", usage: { input: 1, output: 1, totalTokens: 2 } };
    }),
    ...(compact ? { compact } : {}),
  };
}

describe("a runtime's own compaction", () => {
  let bench: Bench;
  let asked: NativeCompactionRequest[];
  beforeEach(async () => {
    asked = [];
    bench = await Bench.with(() => ({ text: "SUMMARY" }));
  });
  afterEach(() => bench.end());

  const open = async (
    compact: AgentHarness["compact"],
    engine?: ContextEngine,
    level = "silent",
  ): Promise<Pagurus> => {
    const models = { "test/model": { agentRuntime: { id: "shell" } } };
    const pagurus = await bench.host({
      ...(engine ? { engine } : {}),
      level,
      defaults: { models },
      more: {
        harnesses: [
          shell(
            compact &&
              ((binding, request) => {
                asked.push(request);
                return compact(binding, request);
              }),
          ),
        ],
      },
    });
    await bench.ask(pagurus, "First?");
    return pagurus;
  };

  it("comes after that of an engine that owns compaction, whose result counts, and is reported in the details", async () => {
    const pagurus = await open(
      () =>
        Promise.resolve({
          compacted: true,
          tokensAfter: 7,
          binding: { nativeId: "thread", state: { turns: 2 } },
        }),
      OWNER,
    );
    const report = await pagurus.compact({});
    assert.deepEqual(
      [report.compacted, report.tokensBefore, report.tokensAfter, report.details],
      [true, 90, 40, { shellNativeCompaction: { compacted: true, tokensAfter: 7 } }],
    );
    assert.deepEqual(
      asked.map(({ governs, model }) => [governs, model.ref]),
      [[true, "test/model"]],
    );
    const record = pagurus.sessions().find("main");
    assert.ok(record);
    assert.deepEqual(readBinding(record, "shell")?.state, { turns: 2 });
  });

  it("fails no compaction of such an engine", async () => {
    const pagurus = await open(() => Promise.reject(new Error("the thread is gone")), OWNER);
    const report = await pagurus.compact({});
    assert.equal(report.compacted, true);
    assert.deepEqual(report.details, {
      shellNativeCompaction: { compacted: false, reason: "the thread is gone" },
    });
  });

  it("is logged as completed only when one was made (finding D12)", async () => {
    for (const compacted of [false, true]) {
      const pagurus = await open(() => Promise.resolve({ compacted, reason: "no need" }), OWNER, "debug");
      await pagurus.compact({});
      await pagurus.close();
      const log = readFileSync(join(bench.root, "home", "logs", "pagurus.log"), "utf8");
      assert.equal(log.includes("native compaction completed"), compacted);
    }
  });

  it("is not compared with the host's count of the conversation (finding D12)", async () => {
    const pagurus = await open(() => Promise.resolve({ compacted: true, tokensAfter: 7_046 }));
    const report = await pagurus.compact({});
    assert.deepEqual(report, { compacted: true, tokensAfter: 7_046, degraded: [] });
    assert.match(compactionText(report), /^Compacted: now 7,046 tokens\./);
  });

  it("is the compaction when no engine governs: no summary is requested", async () => {
    const pagurus = await open(() => Promise.resolve({ compacted: true, tokensBefore: 70, tokensAfter: 7 }));
    const report = await pagurus.compact({});
    assert.deepEqual(report, { compacted: true, tokensBefore: 70, tokensAfter: 7, degraded: [] });
    assert.equal(bench.server.requests.length, 0);
    assert.equal(asked[0]?.governs, false);
  });

  it("that fails there is reported with its reason, and nothing else is compacted instead", async () => {
    const pagurus = await open(() => Promise.reject(new Error("the thread is gone")));
    const report = await pagurus.compact({});
    assert.deepEqual([report.compacted, report.reason], [false, "the thread is gone"]);
    assert.equal(bench.server.requests.length, 0);
  });
});
