import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type {
  ContextEngineInfo,
  HostCapability,
  HostRequirement,
} from "../../../packages/contract/src/engine/engine.ts";
import type { AssembleResult } from "../../../packages/contract/src/engine/engine-params.ts";
import { ENGINE_CONTRACT } from "../../../packages/contract/src/version.ts";
import { calls, Calls, engineOf, failure, MembersBench, ofType, requestText } from "./members-bench.ts";
import { eventsOf, words } from "../in-process.ts";

/** A capability of a later host that this one lacks. */
const MISSING = "shared-thread-store" as HostCapability;
const SENTENCE = "Set runtime.shared in the engine's plugin.";

describe("an engine's info", () => {
  let bench: MembersBench;
  let asked: Calls;
  beforeEach(() => {
    asked = new Calls();
  });
  afterEach(() => bench.end());

  const started = async (
    info: Partial<ContextEngineInfo>,
    script?: Parameters<typeof MembersBench.open>[0],
  ) => {
    bench = await MembersBench.open(script);
    return bench.start({ engine: engineOf(asked, {}, info) });
  };

  it("is in the status: id, name, version and contract", async () => {
    const pagurus = await started({ name: "My engine", version: "1.2.3", contract: ENGINE_CONTRACT });
    const { engine } = await pagurus.status({ cwd: bench.root });
    const { effective, name, version, contract, lifecycle } = engine;
    assert.deepEqual(
      { effective, name, version, contract, lifecycle },
      {
        effective: "mine",
        name: "My engine",
        version: "1.2.3",
        contract: ENGINE_CONTRACT,
        lifecycle: "classic",
      },
    );
    await bench.ask(pagurus, "One");
  });

  const semantics: [string, NonNullable<ContextEngineInfo["transcriptSemantics"]>, RegExp][] = [
    [
      "a fence that the host does not know",
      { currentTurnFence: "after-current-turn-entry-v2" as "before-current-turn-entry-v1" },
      /asks for the fence "after-current-turn-entry-v2"/,
    ],
    [
      "an advancement that the host does not know",
      { turnAdvancementIdempotency: "best-effort-v0" as "atomic-idempotent-v1" },
      /asks for the advancement "best-effort-v0"/,
    ],
    [
      "idempotent advancement without commitTurn()",
      { turnAdvancementIdempotency: "atomic-idempotent-v1" },
      /lacks commitTurn\(\)/,
    ],
  ];
  for (const [what, transcriptSemantics, reason] of semantics) {
    it(`refuses every run for ${what}, and status reports it`, async () => {
      const pagurus = await started({ transcriptSemantics });
      const { code, message } = failure(await eventsOf(pagurus.run({ prompt: "One", cwd: bench.root })));
      assert.equal(code, "engine_contract");
      assert.match(message, reason);
      assert.equal(bench.server.requests.length, 0);
      assert.equal(pagurus.sessions().find("main"), undefined);
      const { problems } = await pagurus.status({ cwd: bench.root });
      assert.deepEqual(
        problems.map((problem) => problem.code),
        ["engine_contract"],
      );
    });
  }

  it("refuses every run for a requirement that names no capabilities", async () => {
    const pagurus = await started({ hostRequirements: { compaction: {} as HostRequirement } });
    const { code, message } = failure(await eventsOf(pagurus.run({ prompt: "One", cwd: bench.root })));
    assert.equal(code, "engine_contract");
    assert.match(message, /host requirement for compaction has no list of requiredCapabilities/);
    assert.equal(bench.server.requests.length, 0);
  });

  it("runs with the semantics that the host supports", async () => {
    bench = await MembersBench.open();
    const engine = engineOf(
      asked,
      { commitTurn: async () => ({ status: "committed" }) },
      {
        transcriptSemantics: {
          currentTurnFence: "before-current-turn-entry-v1",
          turnAdvancementIdempotency: "atomic-idempotent-v1",
        },
      },
    );
    await bench.ask(await bench.start({ engine }), "One");
    // The fence: the current turn's own entry is not among the messages, its text is the prompt.
    assert.deepEqual(asked.last("assemble").messages, []);
    assert.equal(asked.last("assemble").prompt, "One");
    assert.equal(asked.of("commitTurn").length, 1);
  });

  it("live: the engine keeps the history and receives the messages it has not taken, and the turn", async () => {
    bench = await MembersBench.open();
    let fails = false;
    const engine = engineOf(
      asked,
      {
        afterTurn: async () => {
          if (fails) throw new Error("not now");
        },
      },
      { history: "live" },
    );
    const pagurus = await bench.start({ engine });
    await bench.ask(pagurus, "One");
    fails = true;
    await bench.ask(pagurus, "Two");
    await bench.ask(pagurus, "Three");
    fails = false;
    assert.deepEqual(
      asked.of("assemble").map(({ messages }) => messages.map(words)),
      [[], [], ["Two", "Reply 1."]],
    );
    const offered = asked
      .of("afterTurn")
      .map((turn) => [turn.prePromptMessageCount, ...turn.messages.map(words)]);
    assert.deepEqual(offered[0], [0, "One", "Reply 0."]);
    assert.deepEqual(offered[1], [0, "Two", "Reply 1."]);
  });

  const requirement = (more: Partial<HostRequirement> = {}): HostRequirement => ({
    requiredCapabilities: ["assemble-before-prompt", MISSING],
    ...more,
  });

  for (const [how, unsupportedMessage] of [
    ["its own sentence", SENTENCE],
    ["a hint of the host", undefined],
  ] as const) {
    const needs = requirement(unsupportedMessage === undefined ? {} : { unsupportedMessage });
    const says = (message: string): void => {
      assert.match(message, /needs shared-thread-store for .*, which the runtime "embedded" does not have\./);
      assert.ok(message.includes(unsupportedMessage ?? "No runtime here has all of it"), message);
    };

    it(`refuses a run that the runtime cannot serve, with ${how}`, async () => {
      const pagurus = await started({ hostRequirements: { "agent-run": needs } });
      const { code, message } = failure(await eventsOf(pagurus.run({ prompt: "One", cwd: bench.root })));
      assert.equal(code, "host_requirement");
      says(message);
      assert.equal(bench.server.requests.length, 0);
      const { problems } = await pagurus.status({ cwd: bench.root });
      assert.equal(problems[0]?.code, "host_requirement");
    });

    for (const operation of ["compaction", "manual-compact"] as const) {
      it(`refuses /compact for a requirement of ${operation} with ${how}, and runs turns`, async () => {
        const pagurus = await started({ hostRequirements: { [operation]: needs } });
        await bench.ask(pagurus, "One");
        await assert.rejects(pagurus.compact({ cwd: bench.root }), (error: Error & { code?: string }) => {
          says(error.message);
          return error.code === "host_requirement";
        });
        assert.deepEqual(asked.of("compact"), []);
      });
    }

    it(`refuses subagents with ${how}, to the caller and to the model, and runs turns`, async () => {
      const pagurus = await started({ hostRequirements: { "subagent-spawn": needs } }, [
        calls("spawn_agent", { task: "Look." }),
        { text: "Then not." },
      ]);
      await bench.ask(pagurus, "One");
      says(requestText(bench.body(1)));
      assert.equal(bench.server.requests.length, 2);
      await assert.rejects(pagurus.spawn({ task: "Look.", cwd: bench.root }), { code: "host_requirement" });
      assert.equal(pagurus.sessions().list().length, 1);
    });
  }

  it("runs what the runtime supports", async () => {
    const pagurus = await started({
      hostRequirements: {
        "agent-run": { requiredCapabilities: ["bootstrap", "assemble-before-prompt", "after-turn"] },
        compaction: { requiredCapabilities: ["compact", "runtime-llm-complete"] },
      },
    });
    await bench.ask(pagurus, "One");
    assert.equal((await pagurus.compact({ cwd: bench.root })).compacted, false);
    assert.equal(asked.of("compact").length, 1);
  });
});

describe("an engine's result of assemble()", () => {
  let bench: MembersBench;
  afterEach(() => bench.end());

  async function answering(answer: Partial<AssembleResult>) {
    bench = await MembersBench.open();
    const engine = engineOf(new Calls(), {
      assemble: async ({ messages }) => ({ messages, estimatedTokens: 0, ...answer }),
    });
    const pagurus = await bench.start({ engine });
    const events = await bench.ask(pagurus, "One");
    const [receipt] = await pagurus.context.receipts({});
    return { receipt, degraded: ofType(events, "context.degraded") };
  }

  for (const mode of ["thread_bootstrap", "per_turn"] as const) {
    it(`names its ${mode} projection in the receipt of each request`, async () => {
      const { receipt, degraded } = await answering({
        contextProjection: { mode, epoch: "epoch-7", fingerprint: "f00d" },
      });
      assert.deepEqual(degraded, []);
      assert.deepEqual([receipt?.epoch, receipt?.fingerprint], ["epoch-7", "f00d"]);
    });
  }

  it("with an unknown projection is invalid: the plain history is sent, and that is reported", async () => {
    const contextProjection = { mode: "sometimes" as "per_turn", epoch: "e" };
    const { receipt, degraded } = await answering({ contextProjection, systemPromptAddition: "Not this." });
    assert.match(degraded[0]?.reason ?? "", /contextProjection names no known mode/);
    assert.equal(receipt?.epoch, undefined);
    assert.ok(receipt?.degraded !== undefined);
    assert.ok(!bench.body(0).system.includes("Not this."));
  });

  it("puts its addition before the system prompt, and an empty one nowhere", async () => {
    await answering({ systemPromptAddition: "Mind the fog." });
    assert.match(bench.body(0).system, /^Mind the fog\.\n\nYou are an agent/);
    await bench.end();
    const { receipt } = await answering({ systemPromptAddition: "" });
    assert.match(bench.body(0).system, /^You are an agent/);
    assert.ok(!receipt?.parts.some(({ source }) => source === "addition"));
  });
});
