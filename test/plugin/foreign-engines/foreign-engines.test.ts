import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { longTest } from "../../runner/long-tests.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import { runForeignSession, type ForeignReport } from "./session.ts";

const TURNS = 12;

/** A TypeScript engine that Node's type stripping refuses: an enum, a parameter property, `./other.js` for a `.ts`. */
const TYPED = {
  "package.json": JSON.stringify({
    name: "small-typed",
    version: "1.0.0",
    type: "module",
    openclaw: { extensions: ["./index.ts"] },
  }),
  "openclaw.plugin.json": JSON.stringify({ id: "small-typed", kind: "context-engine" }),
  "limit.ts": "export enum Limit { None = 0, Newest = 40 }\n",
  "index.ts": `
import { delegateCompactionToRuntime, OpenClawPluginApi } from "openclaw/plugin-sdk";
import { jsonResult, readNumberParam, readStringParam } from "openclaw/plugin-sdk/core";
import { Limit } from "./limit.js";

class TypedEngine {
  readonly info = { id: "small-typed", name: "Small typed engine" };
  constructor(private readonly limit: Limit) {}
  async ingest(): Promise<{ ingested: boolean }> { return { ingested: true }; }
  async ingestBatch({ messages }: { messages: unknown[] }) { return { ingestedCount: messages.length }; }
  async assemble({ messages }: { messages: { role: string }[] }) {
    const from = messages.findIndex(({ role }, at) => at >= messages.length - this.limit && role === "user");
    return { messages: this.limit === Limit.None ? messages : messages.slice(Math.max(0, from)), estimatedTokens: 1 };
  }
  compact = delegateCompactionToRuntime;
}

export default (api: OpenClawPluginApi) => {
  api.registerContextEngine("small-typed", () => new TypedEngine(Limit.Newest));
  api.registerTool({
    name: "small_sum",
    description: "Adds.",
    parameters: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
    execute: async (_id: string, params: Record<string, unknown>) =>
      jsonResult({ sum: (readNumberParam(params, "a") ?? 0) + Number(readStringParam(params, "b") ?? 0) }),
  });
};
`,
};

describe("engines that were written for OpenClaw", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-foreign-"));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function run(
    folder: string,
    more: Partial<Parameters<typeof runForeignSession>[0]> = {},
  ): Promise<ForeignReport> {
    return runForeignSession({ folder, root, turns: TURNS, compactAfter: [TURNS / 2, TURNS], ...more });
  }

  function assertWhole(report: ForeignReport, turns = TURNS): void {
    assert.deepEqual(report.failures, []);
    assert.equal(report.completed, turns);
    assert.deepEqual(report.lostWords, []);
    assert.deepEqual(report.invalidRequests, []);
    assert.deepEqual(
      report.compactions.map(({ compacted, reason }) => ({ compacted, reason })),
      report.compactions.map(() => ({ compacted: true, reason: undefined })),
    );
    assert.equal(report.status.engine.effective, report.engineId);
    assert.equal(report.status.engine.contract, "openclaw");
    assert.deepEqual(report.status.problems, []);
  }

  longTest(
    "run turns with tools and two compactions by the classic lifecycle, from a copy of the transcript",
    async () => {
      const answers: string[] = [];
      const say = async (turn: number, pagurus: Pagurus): Promise<void> => {
        if (turn !== 4) return;
        for (const args of ["knows", "delegate"])
          answers.push(await pagurus.command({ name: "small", args, sessionKey: "main" }));
      };
      const first = await run(folderOf("classic"), { turns: 6, compactAfter: [6], afterTurn: say });
      const second = await run(folderOf("classic"), { firstTurn: 7, compactAfter: [TURNS] });
      assertWhole(first, 6);
      assertWhole(second, 6);
      assert.deepEqual([...first.degraded, ...second.degraded], []);
      assert.equal(second.status.engine.lifecycle, "classic");
      // One of the seven is the turn of the agent started by the plugin.
      assert.deepEqual(first.use.members, { assemble: 7, afterTurn: 7, maintain: 7, compact: 1 });
      assert.deepEqual(second.use.members, {
        bootstrap: 1,
        assemble: 6,
        afterTurn: 6,
        maintain: 7,
        compact: 1,
      });
      // Every third turn reads twice, so it has six messages instead of four.
      assert.deepEqual(answers, ["knows main 18 true 1", '["ok",["user","assistant"],"Said.",0]']);
      assert.ok(first.use.params.includes("afterTurn.sessionFile"), "the engine is given a file");
      assert.deepEqual(first.use.api.missing, ["api.runtime.inspection"]);
      assert.equal(first.throughJiti, false);
    },
  );

  longTest(
    "run turns with tools and two compactions by the durable lifecycle, in two processes' worth",
    async () => {
      const first = await run(folderOf("durable"), { turns: 6, compactAfter: [6] });
      const second = await run(folderOf("durable"), { firstTurn: 7, compactAfter: [TURNS] });
      for (const report of [first, second]) {
        assertWhole(report, 6);
        assert.deepEqual(report.degraded, []);
        assert.equal(report.status.engine.lifecycle, "durable");
        assert.ok(report.summaryRequests > 0, "the built-in compaction summarizes");
      }
      assert.deepEqual(first.use.members, { assemble: 6, commitTurn: 6, compact: 1 });
      assert.deepEqual(second.use.members, { bootstrap: 1, assemble: 6, commitTurn: 6, compact: 1 });
      const kept = readFileSync(join(root, "home/agents/main/small-durable.jsonl"), "utf8")
        .trim()
        .split("\n");
      assert.equal(kept.length, TURNS, "each turn is committed once");
    },
  );

  it("are asked to compact by the host itself where the window is small", async () => {
    const report = await run(folderOf("classic"), { turns: 12, compactAfter: [], contextWindow: 12_000 });
    assertWhole(report);
    assert.deepEqual(report.degraded, []);
    assert.ok((report.use.members["compact"] ?? 0) > 0, "the engine compacts");
    assert.ok(report.lastRequest < report.largestRequest, "and the context is smaller then");
  });

  it("run from TypeScript that needs more than its types stripped", async () => {
    const folder = join(root, "typed");
    mkdirSync(folder);
    for (const [name, text] of Object.entries(TYPED)) writeFileSync(join(folder, name), text);
    const report = await run(folder);
    assertWhole(report);
    assert.deepEqual(report.use.members, { assemble: TURNS, ingestBatch: TURNS, compact: 2 });
    assert.ok(report.largestRequest < 60, "the engine's limit holds");
    assert.ok(report.throughJiti);
  });

  it("cannot rewrite the transcript, and each rewrite is reported", async () => {
    const folder = join(root, "rewriting");
    cpSync(folderOf("classic"), folder, { recursive: true });
    const report = await run(folder, { turns: 4, compactAfter: [], pluginConfig: { rewrites: true } });
    assertWhole(report, 4);
    const named = report.degraded.filter((reason) => reason.includes("rewrote its copy of the transcript"));
    assert.equal(named.length, 4, "one for each turn");
    assert.match(named[0] ?? "", /^transcript: /);
    assert.equal(report.status.degraded.filter(({ stage }) => stage === "transcript").length, 4);
  });
});

function folderOf(name: string): string {
  return join(import.meta.dirname, name);
}
