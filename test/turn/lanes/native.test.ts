/** A runtime's own compaction of its thread: beside an engine's, and in its place where no engine governs. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ContextEngine } from "../../../src/contract/engine.ts";
import type { AgentHarness, NativeCompactionRequest } from "../../../src/contract/harness.ts";
import type { Pagurus } from "../../../src/contract/host.ts";
import { readBinding } from "../../../src/session/bindings.ts";
import { Bench } from "../in-process.ts";

/** Compacts on its own account and keeps to itself what. */
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
    contract: "pagurus.harness/1",
    execution: { kind: "external" },
    seam: "thread",
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
    keepsContext: true,
    supports: () => ({ supported: true }),
    runTurn: async (turn) => {
      await turn.assemble();
      turn.bind({ nativeId: "thread", state: { turns: 1 } });
      const content = [{ type: "text" as const, text: "Answer." }];
      await turn.emit({ type: "message", message: { role: "assistant", content, stopReason: "stop" } });
      return { stopReason: "stop", usage: { input: 1, output: 1, totalTokens: 2 } };
    },
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

  const open = async (compact: AgentHarness["compact"], engine?: ContextEngine): Promise<Pagurus> => {
    const models = { "test/model": { agentRuntime: { id: "shell" } } };
    const pagurus = await bench.host({
      ...(engine ? { engine } : {}),
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

  it("comes after that of an engine that owns compaction, whose result stands, and is told in the details", async () => {
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

  it("is the compaction where no engine governs: no summary is asked for", async () => {
    const pagurus = await open(() => Promise.resolve({ compacted: true, tokensBefore: 70, tokensAfter: 7 }));
    const report = await pagurus.compact({});
    assert.deepEqual(report, { compacted: true, tokensBefore: 70, tokensAfter: 7, degraded: [] });
    assert.equal(bench.server.requests.length, 0);
    assert.equal(asked[0]?.governs, false);
  });

  it("that fails there is told with its reason, and nothing else is compacted in its place", async () => {
    const pagurus = await open(() => Promise.reject(new Error("the thread is gone")));
    const report = await pagurus.compact({});
    assert.deepEqual([report.compacted, report.reason], [false, "the thread is gone"]);
    assert.equal(bench.server.requests.length, 0);
  });
});
