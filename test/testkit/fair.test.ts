/** Sound engines that keep a store of their own, read the session from the host, or follow OpenClaw's contract. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { CompactParams, CompactResult } from "../../packages/contract/src/engine/engine-compaction.ts";
import type {
  AssembleParams,
  BootstrapParams,
  CommitTurnParams,
} from "../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine, ContextEngineInfo } from "../../packages/contract/src/engine/engine.ts";
import type { RuntimeContext, SessionTarget } from "../../packages/contract/src/engine/runtime-context.ts";
import { createLegacyEngine } from "../../packages/host/src/engines/legacy/legacy-engine.ts";
import {
  readSessionTranscriptVisibleMessageDelta,
  readVisibleSessionTranscriptMessageEntries,
} from "../../packages/host/src/plugin/compat/sdk.ts";
import { runEngineSuite, type EngineSuiteOptions } from "../../packages/testkit/src/index.ts";
import { FULL } from "../runner/short-form.ts";
import { createDurableEngine } from "./engines/durable.ts";

/** Checks that read messages which an earlier check may have left. */
const HISTORY = [
  "assemble.empty",
  "assemble.sessions-apart",
  "live.whole",
  "same.fresh",
  "settle.turns",
  "settle.commit",
  "bootstrap.history",
  "bootstrap.then-turns",
  "compact.context",
];

async function outcomes(options: EngineSuiteOptions): Promise<Record<string, string>> {
  const { results } = await runEngineSuite(options);
  return Object.fromEntries(results.map(({ id, status, reason }) => [id, reason ?? status]));
}

async function failures(options: EngineSuiteOptions): Promise<string[]> {
  const { results } = await runEngineSuite(options);
  return results.flatMap(({ id, status, reason }) => (status === "failed" ? [`${id}: ${reason}`] : []));
}

test("an engine whose store persists from check to check, and to a second run, passes (finding B11)", async () => {
  const dir = mkdtempSync(join(tmpdir(), "pagurus-store-"));
  try {
    const options = { create: () => createDurableEngine({ dir }), ...(FULL ? {} : { only: HISTORY }) };
    assert.deepEqual(await failures(options), []);
    assert.deepEqual(await failures({ ...options, only: HISTORY.slice(0, 5) }), []);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test("each check has its own ids of sessions, turns and entries (finding B11)", async () => {
  const owners = new Map<string, Set<string>>();
  let check = "";
  const create = (): ContextEngine => {
    const engine = createLegacyEngine();
    const note = (...ids: (string | undefined)[]): void => {
      for (const id of ids) if (id !== undefined) owners.set(id, (owners.get(id) ?? new Set()).add(check));
    };
    return {
      ...engine,
      assemble: async (params) => {
        note(params.sessionId, params.sessionKey, ...params.messages.map(({ entryId }) => entryId));
        return await engine.assemble(params);
      },
      commitTurn: async ({ advancementKey, admission }) => {
        note(advancementKey, admission.entryId, admission.storePath);
        return { status: "committed" };
      },
    };
  };
  for (check of ["settle.turns", "assemble.order", "live.whole", "settle.turns again"])
    await runEngineSuite({ create, only: [check.split(" ")[0] ?? ""] });
  assert.ok(owners.size > 20, `${owners.size} ids`);
  assert.deepEqual(
    [...owners].filter(([, checks]) => checks.size > 1).map(([id]) => id),
    [],
  );
});

test("the sessionTarget of a durable engine is readable with the plugin-sdk, until the check ends (finding B11)", async () => {
  const targets: SessionTarget[] = [];
  const unlike: string[] = [];
  const compare = async (
    target: SessionTarget | undefined,
    { transcript }: RuntimeContext,
  ): Promise<void> => {
    assert.ok(target);
    targets.push(target);
    const wanted: string[] = [];
    for await (const entry of transcript.forward()) if (entry.type === "message") wanted.push(entry.id);
    const read = await readVisibleSessionTranscriptMessageEntries(target);
    const page = await readSessionTranscriptVisibleMessageDelta({ ...target, maxMessages: 1_000 });
    const pageIds = page.kind === "page" ? page.entries.map(({ entryId }) => entryId) : [page.kind];
    if (wanted.join() !== read.map(({ entryId }) => entryId).join()) unlike.push("entries");
    if (wanted.join() !== pageIds.join()) unlike.push("delta");
  };
  const create = (context: { dir: string }): ContextEngine => {
    const engine = createDurableEngine(context);
    const contextOf = (params: { runtimeContext?: RuntimeContext }): RuntimeContext => {
      assert.ok(params.runtimeContext);
      return params.runtimeContext;
    };
    return {
      info: engine.info,
      ingest: (params) => engine.ingest(params),
      compact: (params) => engine.compact(params),
      bootstrap: async (params: BootstrapParams) => {
        await compare(params.sessionTarget, contextOf(params));
        return (await engine.bootstrap?.(params)) ?? { bootstrapped: false };
      },
      commitTurn: async (params: CommitTurnParams) => {
        await compare(params.sessionTarget, contextOf(params));
        return (await engine.commitTurn?.(params)) ?? { status: "duplicate" };
      },
      assemble: async (params: AssembleParams) => {
        await compare(contextOf(params).sessionTarget, contextOf(params));
        return await engine.assemble(params);
      },
    };
  };
  const only = ["bootstrap.history", "settle.turns"];
  assert.deepEqual(await failures({ create, only }), []);
  assert.deepEqual(unlike, []);
  assert.ok(targets.length >= 6);
  for (const target of targets)
    await assert.rejects(readVisibleSessionTranscriptMessageEntries(target), { code: "session_not_found" });
});

/** An engine of OpenClaw's contract: it names no contract, and lists the parameters it accepts. */
function foreign(changes: Partial<ContextEngine>, accepted?: string[]): () => ContextEngine {
  return () => {
    const engine = createLegacyEngine();
    const { contract: _none, ...info }: ContextEngineInfo = engine.info;
    return {
      ...engine,
      info: { ...info, ...(accepted ? { acceptedHostParams: accepted } : {}) },
      ...changes,
    };
  };
}

test("an engine gets only the parameters that the host passes by its accepted list (finding B11)", async () => {
  const seen = new Set<string>();
  const engine = createLegacyEngine();
  const create = foreign(
    {
      assemble: async (params) => {
        for (const name of Object.keys(params)) seen.add(name);
        return await engine.assemble(params);
      },
      compact: async (params) => {
        for (const name of Object.keys(params)) seen.add(name);
        return await engine.compact(params);
      },
    },
    ["sessionKey", "prompt", "runtimeContext"],
  );
  const only = ["assemble.order", "compact.aborted-before", "compact.aborted-midway"];
  const found = await outcomes({ create, only });
  assert.equal(found["assemble.order"], "passed");
  for (const id of only.slice(1)) assert.match(found[id] ?? "", /^not offered: .* does not name abortSignal/);
  assert.ok(seen.has("availableTools") && seen.has("model"), [...seen].join());
  assert.ok(!seen.has("abortSignal") && !seen.has("runtimeSettings"), [...seen].join());
});

test("an engine of OpenClaw's contract is not asked for an origin of its summaries (finding B11)", async () => {
  const engine = createLegacyEngine();
  const compact = async (params: CompactParams): Promise<CompactResult> => {
    const answered = await engine.compact(params);
    if (!answered.result) return answered;
    const { origin: _none, ...result } = answered.result;
    return { ...answered, result };
  };
  const only = ["compact.model-fails", "compact.model-empty"];
  assert.deepEqual(await failures({ create: foreign({ compact }), only }), []);
  const ours = await outcomes({ create: () => ({ ...createLegacyEngine(), compact }), only });
  for (const id of only) assert.match(ours[id] ?? "", /has the origin `extractive`/);
});

test("an epoch may name the session, and a signal that is passed on ends a model call (finding B11)", async () => {
  let epochs = 0;
  const create = (): ContextEngine => {
    const engine = createLegacyEngine();
    const epoch = `conversation ${(epochs += 1)}`;
    return {
      ...engine,
      assemble: async (params) => ({
        ...(await engine.assemble(params)),
        contextProjection: { mode: "thread_bootstrap", epoch },
      }),
      compact: async (params) => {
        const { abortSignal: signal, runtimeContext } = params;
        const messages = [{ role: "user" as const, content: "Summarize." }];
        await runtimeContext?.llm.complete({ messages, ...(signal ? { signal } : {}) });
        return { ok: true, compacted: false, reason: "not now" };
      },
    };
  };
  assert.deepEqual(
    await failures({ create, only: ["same.twice", "same.fresh", "compact.aborted-midway"] }),
    [],
  );
});
