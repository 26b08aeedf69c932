import { setImmediate as turnOfLoop } from "node:timers/promises";
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { describe, it } from "node:test";
import { checkEngines } from "../../packages/doctor/src/check-engine.ts";
import type { Finding } from "../../packages/doctor/src/finding.ts";
import type { ContextEngine, ContextEngineFactory } from "../../packages/contract/src/engine/engine.ts";
import type { CompactParams, CompactResult } from "../../packages/contract/src/engine/engine-compaction.ts";
import type { MessageEntry } from "../../packages/contract/src/session/transcript.ts";
import { delegateCompactionToRuntime } from "../../packages/host/src/plugin/engine-frame.ts";

type Changes = Partial<Omit<ContextEngine, "info">> & { info?: Partial<ContextEngine["info"]> };

function engine(changes: Changes = {}): ContextEngine {
  const { info, ...members } = changes;
  return {
    info: { id: "tried", name: "Tried", ...info },
    ingest: () => Promise.resolve({ ingested: false }),
    assemble: ({ messages }) => Promise.resolve({ messages, estimatedTokens: 0 }),
    compact: () => Promise.resolve({ ok: true, compacted: false, reason: "Nothing to do." }),
    ...members,
  };
}

/** Findings about engines, without the one that the slot's engine is registered. */
async function examine(factory: ContextEngineFactory, slot = "tried"): Promise<Finding[]> {
  const findings = await checkEngines({
    engineIds: ["legacy", "tried"],
    contextEngine: slot,
    slotReason: "the test",
    failures: [],
    engines: [{ id: "tried", factory }],
    config: { plugins: {} },
    probeDeadlineMs: 300,
  });
  assert.deepEqual(
    [findings[0]?.level, findings[0]?.detail],
    ["ok", `The context engine ${slot} is in the slot (the test) and registered.`],
  );
  return findings.slice(1);
}

const only = async (made: ContextEngine, slot?: string): Promise<Finding | undefined> => {
  const findings = await examine(() => made, slot);
  assert.ok(findings.length <= 1, JSON.stringify(findings));
  return findings[0];
};

/** Summarizes all but the newest turn by the transcript and the model, as the guide's engine does. */
async function summarize({ runtimeContext, abortSignal }: CompactParams): Promise<CompactResult> {
  if (!runtimeContext) return { ok: false, compacted: false };
  const entries: MessageEntry[] = [];
  for await (const entry of runtimeContext.transcript.backward())
    if (entry.type === "message") entries.unshift(entry);
  const cut = entries.findIndex(({ turnId }) => turnId === entries.at(-1)?.turnId);
  const first = entries[cut];
  if (cut <= 0 || !first) return { ok: true, compacted: false };
  const { text } = await runtimeContext.llm.complete({
    messages: [{ role: "user", content: JSON.stringify(entries.slice(0, cut)) }],
    ...(abortSignal ? { signal: abortSignal } : {}),
  });
  const tokensBefore = runtimeContext.tokens(entries.map(({ message }) => message));
  return {
    ok: true,
    compacted: true,
    result: { summary: text, firstKeptEntryId: first.id, tokensBefore, tokensAfter: 100 },
  };
}

describe("the doctor and plugins", () => {
  it("names what a plugin registers that is not used here, gates as a warning (finding C1)", async () => {
    const findings = await checkEngines({
      engineIds: ["legacy"],
      contextEngine: "legacy",
      slotReason: "the test",
      failures: [],
      plugins: [
        {
          id: "claw",
          notUsed: ["HTTP route /x", "hook before_install"],
          idleGates: ["hook before_install"],
          errors: ["no socket"],
        },
      ],
    });
    assert.deepEqual(
      findings.slice(0, 3).map(({ level, detail }) => `${level}: ${detail}`),
      [
        "info: The plugin claw has registered what is not used here: HTTP route /x.",
        "warn: The plugin claw has gates that nothing here calls, so they guard nothing: hook before_install.",
        "warn: The plugin claw has an error that nothing in it handles: no socket",
      ],
    );
  });
});

describe("the doctor and an engine's compaction", () => {
  it("names an engine that does not own compaction and whose compact() is a no-op, with a remedy", async () => {
    const finding = await only(engine());
    assert.deepEqual([finding?.level, finding?.check], ["warn", "engine"]);
    assert.equal(
      finding?.detail,
      "The engine tried does not own compaction and its compact() is a no-op (Nothing to do), so /compact and the recovery from an overflow would do nothing.",
    );
    assert.match(finding?.fix ?? "", /info\.ownsCompaction to true .* call delegateCompactionToRuntime\.$/);
  });

  it("reports of an engine outside the slot what would happen in it", async () => {
    assert.match(
      (await only(engine(), "legacy"))?.detail ?? "",
      /would do nothing, should it be put in the slot\.$/,
    );
  });

  it("treats a missing answer, or one that is not ok, as a no-op", async () => {
    const answers = [undefined, null, {}, "done", { ok: false, compacted: true }, { compacted: true }];
    for (const answer of answers) {
      const made = engine({ compact: () => Promise.resolve(answer as unknown as CompactResult) });
      assert.match((await only(made))?.detail ?? "", /is a no-op, so/, JSON.stringify(answer));
    }
  });

  it("accepts an engine that compacts with the host's transcript and model", async () => {
    assert.deepEqual(await only(engine({ compact: summarize })), {
      level: "ok",
      check: "engine",
      detail: "The engine tried compacts.",
    });
  });

  it("accepts an engine that delegates the compaction to the runtime", async () => {
    assert.equal((await only(engine({ compact: delegateCompactionToRuntime })))?.level, "ok");
    const later = engine({
      compact: async (params) => {
        await turnOfLoop();
        const { compacted } = await delegateCompactionToRuntime(params);
        return { ok: compacted, compacted: false };
      },
    });
    assert.equal((await only(later))?.level, "ok");
  });

  it("reports a compact() that throws, or never ends, with its reason", async () => {
    const throwing = engine({ compact: () => Promise.reject(new Error("no such table: turns\nmore")) });
    assert.match(
      (await only(throwing))?.detail ?? "",
      /its compact\(\) failed on a made-up conversation \(no such table: turns\), so/,
    );
    let aborted = false;
    const hanging = engine({
      compact: ({ abortSignal }) =>
        new Promise(() => abortSignal?.addEventListener("abort", () => void (aborted = true))),
    });
    assert.match((await only(hanging))?.detail ?? "", /\(compact\(\) took longer than 300 ms\)/);
    assert.equal(aborted, true);
  });

  it("skips the compact() of an engine that owns compaction", async () => {
    let asked = 0;
    const made = engine({
      info: { ownsCompaction: true },
      compact: () => {
        asked += 1;
        return Promise.resolve({ ok: true, compacted: false });
      },
    });
    assert.deepEqual(await examine(() => made), []);
    assert.equal(asked, 0);
  });

  it("names an engine that declares interceptsCompaction without the member, whoever owns compaction", async () => {
    const declared = { interceptsCompaction: true, ownsCompaction: true };
    const finding = await only(engine({ info: declared }));
    assert.equal(finding?.level, "warn");
    assert.match(finding?.detail ?? "", /declares interceptsCompaction and has no interceptCompaction\(\)/);
    const whole = engine({
      info: declared,
      interceptCompaction: () => Promise.resolve({ handled: false, reason: "no" }),
    });
    assert.deepEqual(await examine(() => whole), []);
  });

  it("passes the conversation as a host does, by the best member available", async () => {
    const calls: string[] = [];
    const seen = (name: string, messages: number) => void calls.push(`${name} ${messages}`);
    const ingest: ContextEngine["ingest"] = () => {
      seen("ingest", 1);
      return Promise.resolve({ ingested: true });
    };
    const ingestBatch: NonNullable<ContextEngine["ingestBatch"]> = ({ messages }) => {
      seen("ingestBatch", messages.length);
      return Promise.resolve({ ingestedCount: messages.length });
    };
    const afterTurn: NonNullable<ContextEngine["afterTurn"]> = ({ messages }) => {
      seen("afterTurn", messages.length);
      return Promise.resolve();
    };
    const bootstrap: NonNullable<ContextEngine["bootstrap"]> = ({ sessionFile }) => {
      seen("bootstrap", readFileSync(sessionFile, "utf8").match(/"type":"message"/g)?.length ?? 0);
      return Promise.resolve({ bootstrapped: true });
    };
    await only(engine({ ingest, ingestBatch, afterTurn, bootstrap }));
    await only(engine({ ingest, ingestBatch, afterTurn }));
    await only(engine({ ingest, ingestBatch }));
    assert.deepEqual(calls, ["bootstrap 120", "afterTurn 120", "ingestBatch 120"]);
    await only(engine({ ingest }));
    assert.equal(calls.length, 123);
    const refusing = engine({ bootstrap: () => Promise.reject(new Error("no")), compact: summarize });
    assert.equal((await only(refusing))?.level, "ok");
  });

  it("gives each engine private folders, disposes of it and leaves no files", async () => {
    let folder = "";
    let disposed = 0;
    let asked: CompactParams | undefined;
    await examine(({ agentDir = "", workspaceDir = "", config }) => {
      assert.deepEqual(config, { plugins: {} });
      folder = dirname(agentDir);
      assert.equal(dirname(workspaceDir), folder);
      assert.equal(statSync(folder).mode & 0o077, 0);
      return engine({
        compact: (params) => {
          asked = params;
          assert.ok(params.sessionFile.startsWith(agentDir));
          return Promise.reject(new Error("no"));
        },
        dispose: () => {
          disposed += 1;
          return Promise.reject(new Error("it does not want to go"));
        },
      });
    });
    assert.equal(disposed, 1);
    assert.equal(existsSync(folder), false);
    assert.equal(asked?.force, true);
    assert.ok((asked.currentTokenCount ?? 0) > (asked.tokenBudget ?? 0));
    assert.ok((asked.currentTokenCount ?? 0) < (asked.runtimeContext?.contextWindow ?? 0));
  });

  it("reports an engine outside the slot that cannot be created; the host reports the slot's one", async () => {
    const broken: ContextEngineFactory = () => Promise.reject(new Error("The database is locked."));
    const [finding] = await examine(broken, "legacy");
    assert.equal(finding?.detail, "The engine tried cannot be created (The database is locked).");
    assert.deepEqual(await examine(broken), []);
    for (const nonsense of [undefined, {}, { info: { id: "x" } }]) {
      const [found] = await examine(() => nonsense as unknown as ContextEngine, "legacy");
      assert.match(found?.detail ?? "", /cannot be created/);
    }
  });
});
