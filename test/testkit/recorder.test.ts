import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { declaredContract } from "../../scripts/contract-declared.ts";
import type { AssembleParams, AssembleResult } from "../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine } from "../../packages/contract/src/engine/engine.ts";
import type { HookHandler } from "../../packages/contract/src/host/hooks.ts";
import type { Memory } from "../../packages/contract/src/engine/memory.ts";
import type { PluginApi } from "../../packages/contract/src/host/plugin.ts";
import { recordEngine, recordMemory, recordPlugin, type ContractRecord } from "./recorder.ts";

const VARIABLE = "PAGURUS_CONTRACT_RECORD";
const ROOT = join(import.meta.dirname, "../..");

function engine(): ContextEngine {
  return {
    info: {
      id: "recorded",
      name: "Recorded",
      hostRequirements: { compaction: { requiredCapabilities: ["compact"] } },
    },
    ingest: async () => ({ ingested: true }),
    assemble: async ({ messages, runtimeContext }) => ({
      messages,
      estimatedTokens: runtimeContext?.tokens(messages) ?? 0,
      contextProjection: { mode: "per_turn", epoch: "1" },
    }),
    compact: async () => ({ ok: true, compacted: false }),
    prepareSubagentSpawn: async () => ({ rollback: async () => undefined }),
  };
}

describe("recording how the host uses the contract", () => {
  let folder: string;
  let before: string | undefined;

  beforeEach(() => {
    before = process.env[VARIABLE];
    folder = mkdtempSync(join(tmpdir(), "pagurus-recorder-"));
    process.env[VARIABLE] = folder;
  });
  afterEach(() => {
    if (before === undefined) delete process.env[VARIABLE];
    else process.env[VARIABLE] = before;
    rmSync(folder, { recursive: true, force: true });
  });

  function records(): ContractRecord[] {
    return readdirSync(folder).flatMap((name) =>
      readFileSync(join(folder, name), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as ContractRecord),
    );
  }

  function paths(event: ContractRecord["event"]): string[] {
    return records().flatMap((record) => (record.event === event ? [record.path] : []));
  }

  async function assembled(): Promise<AssembleResult> {
    const runtimeContext = {
      provider: "test",
      tokens: () => 7,
      llm: { complete: async () => ({ text: "" }) },
    };
    const params = {
      sessionId: "s",
      messages: [],
      model: undefined,
      availableTools: new Set(["x"]),
      runtimeContext,
    };
    return await recordEngine(engine()).assemble(params as unknown as AssembleParams);
  }

  it("returns its input while it is switched off", () => {
    delete process.env[VARIABLE];
    const [made, plugin] = [engine(), (): void => undefined];
    assert.equal(recordEngine(made), made);
    assert.equal(recordPlugin(plugin), plugin);
  });

  it("records a call, its set fields with their types, and what the engine called of it", async () => {
    const answered = await assembled();
    assert.equal(answered.estimatedTokens, 7);
    assert.deepEqual(paths("call"), ["assemble", "assemble#0.runtimeContext.tokens"]);
    assert.ok(!paths("set").includes("assemble#0.model"), "a field that is undefined was not set");
    const types = new Map(records().map(({ path, type }) => [path, type]));
    assert.equal(types.get("assemble#0.availableTools"), "Set");
    assert.equal(types.get("assemble#0.runtimeContext.provider"), "string");
    assert.ok(paths("answer").includes("assemble#0.runtimeContext.tokens"));
    assert.ok(
      !paths("answer").includes("assemble#0.runtimeContext.llm.complete"),
      "what nobody calls proves nothing",
    );
  });

  it("records only the read fields of an answer, and a copy of it is a plain value", async () => {
    const answered = await assembled();
    assert.deepEqual(paths("read"), []);
    assert.equal(answered.contextProjection?.epoch, "1");
    assert.deepEqual(paths("read"), ["assemble=.contextProjection", "assemble=.contextProjection.epoch"]);
    assert.deepEqual(structuredClone(answered), {
      messages: [],
      estimatedTokens: 7,
      contextProjection: { mode: "per_turn", epoch: "1" },
    });
  });

  it("records which fields of info are read, and a rollback only when it is called", async () => {
    const recorded = recordEngine(engine());
    assert.equal(recorded.info.id, "recorded");
    assert.deepEqual(paths("read"), ["info", "info.id"]);
    const spawn = await recorded.prepareSubagentSpawn?.({ parentSessionKey: "p", childSessionKey: "c" });
    assert.ok(!paths("call").includes("prepareSubagentSpawn=.rollback"));
    await spawn?.rollback();
    assert.ok(paths("call").includes("prepareSubagentSpawn=.rollback"));
    assert.equal(recorded.commitTurn, undefined);
  });

  it("names the running test with its file", async () => {
    await assembled();
    const [first] = records();
    assert.match(
      first?.test ?? "",
      /^test\/testkit\/recorder\.test\.ts: .* > names the running test with its file$/,
    );
  });

  it("records memories and the hooks of a plugin", async () => {
    const memory: Memory = {
      id: "notes",
      search: async () => [{ path: "MEMORY.md", line: 1, text: "ships", score: 1 }],
      promptSection: async () => [],
    };
    const [hit] = await recordMemory(memory, { workspaceDir: "/w" }).search("ships", {
      limit: 3,
      signal: AbortSignal.abort(),
    });
    assert.equal(hit?.line, 1);
    assert.ok(paths("set").includes("search#1.signal"));
    assert.deepEqual(paths("read"), ["search=[].line"]);
    let handler: HookHandler<"user_prompt"> | undefined;
    const api = { on: (_name: string, given: HookHandler<"user_prompt">) => void (handler = given) };
    await recordPlugin((given) => given.on("user_prompt", () => ({ block: true, reason: "no" })))(
      api as unknown as PluginApi,
    );
    const answered = await handler?.({ prompt: "hello" }, { sessionKey: "k", sessionId: "s", agentId: "a" });
    assert.equal(answered?.reason, "no");
    assert.ok(
      paths("set").includes("user_prompt#0.prompt") && paths("set").includes("user_prompt#1.sessionKey"),
    );
    assert.ok(paths("read").includes("user_prompt=.reason") && !paths("read").includes("user_prompt=.block"));
  });
});

describe("what the contract declares", () => {
  it("is read from its source: members, fields with those inherited, answers, hooks", () => {
    const { rows } = declaredContract(ROOT);
    const wanted = new Map(rows.map(({ surface, id, wanted: by }) => [`${surface} ${id}`, by]));
    assert.equal(wanted.size, rows.length, "every row is there once");
    const expected = {
      "engine assemble": "call",
      "engine assemble(params).sessionId": "set",
      "engine afterTurn(params).sessionTarget.storePath": "set",
      "engine commitTurn(params).admission.entryId": "set",
      "engine commitTurn(params).admission.role": "set",
      "engine interceptCompaction → reason": "read",
      "engine interceptCompaction → summary": "read",
      "engine info.hostRequirements.*.unsupportedMessage": "read",
      "engine prepareSubagentSpawn → rollback": "call",
      "engine RuntimeContext.llm.complete": "answer",
      "engine RuntimeContext.promptCache.lastCallUsage.cacheRead": "set",
      "engine RuntimeContext.transcript.backward": "answer",
      "engine RuntimeSettings.limits.maxOutputTokens": "set",
      "memory search(query)": "set",
      "memory search →[].score": "read",
      "hooks session_before_compact(payload).preparation.fileOps.edited": "set",
      "hooks session_before_compact → compaction.summary": "read",
    };
    for (const [row, by] of Object.entries(expected)) assert.equal(wanted.get(row), by, row);
  });

  it("finds the row of a recorded path, and none for what is not declared", () => {
    const { locate } = declaredContract(ROOT);
    assert.equal(locate("engine", "assemble#0.runtimeContext.provider"), "RuntimeContext.provider");
    assert.equal(locate("engine", "compact=.result.tokensBefore"), "compact → result.tokensBefore");
    assert.equal(locate("memory", "search=[].score"), "search →[].score");
    assert.equal(locate("hooks", "user_prompt#1.sessionKey"), "HookContext.sessionKey");
    assert.equal(locate("engine", "assemble#0.somethingElse"), undefined);
    assert.equal(locate("engine", "assemble#3"), undefined);
  });
});
