/** A provider that refuses the context as too long, and the built-in compaction that engines may delegate to. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { contextOverflowReply } from "../../servers/server.ts";
import { words } from "../in-process.ts";
import {
  callsBig,
  ENGINE_SUMMARY,
  filler,
  handled,
  INTERCEPTED_SUMMARY,
  LaneSetting,
  MODEL_SUMMARY,
  ofType,
  ownSummary,
  recordingEngine,
  RESERVES,
  summaryIn,
  type Calls,
  type EngineSpec,
  type SettingOptions,
} from "./setting.ts";

const FIRST = filler(6_000, "amber");
const SECOND = filler(6_000, "birch");
const OVERFLOW = contextOverflowReply("openai-completions");

let setting: LaneSetting;

async function open(spec: EngineSpec, more: SettingOptions = {}): Promise<Calls> {
  const { engine, calls } = recordingEngine(spec);
  const defaults = { toolResultMaxChars: 200_000 };
  setting = await LaneSetting.open({ engine, defaults, ...more });
  await setting.ask(FIRST);
  await setting.ask(SECOND);
  return calls;
}

describe("overflow recovery", () => {
  afterEach(() => setting.end());

  it("compacts by force and sends the same prompt once more", async () => {
    const calls = await open({ compact: ownSummary });
    setting.turns.push(OVERFLOW, { text: "now it fits" });
    const events = await setting.ask("what was that?");
    const [params, ...more] = calls.compact;
    assert.deepEqual(more, []);
    const { budget } = (await setting.status()).context;
    const refusedTokens = params?.currentTokenCount ?? 0;
    // Tokens of the refused request, not a placeholder.
    assert.ok(refusedTokens > 11_000 && refusedTokens < budget, `${refusedTokens} of ${budget}`);
    assert.deepEqual(
      [params?.force, params?.compactionTarget, params?.tokenBudget],
      [true, "budget", budget],
    );
    assert.equal(params?.runtimeContext?.manualCompaction, false);
    assert.ok(params && !("customInstructions" in params));
    const [refused, retry, ...others] = setting.turnBodies().slice(2);
    assert.deepEqual(others, []);
    assert.ok(refused?.messages.some(({ text }) => text === FIRST));
    assert.equal(refused?.messages.at(-1)?.text, "what was that?");
    assert.equal(summaryIn(retry), ENGINE_SUMMARY);
    assert.equal(retry?.messages.at(-1)?.text, "what was that?");
    assert.equal(ofType(events, "compaction.completed")[0]?.trigger, "overflow");
    const inputs = (await setting.entries()).filter(
      (entry) => entry.type === "message" && words(entry.message) === "what was that?",
    );
    assert.equal(inputs.length, 1);
  });

  it("sends the recorded tool results again; no tool runs twice", async () => {
    await open({ compact: ownSummary });
    setting.turns.push(callsBig(50), OVERFLOW, { text: "done" });
    const events = await setting.ask("look it up");
    assert.equal(ofType(events, "tool.started").length, 1);
    const retry = setting.turnBodies().at(-1);
    assert.equal(summaryIn(retry), ENGINE_SUMMARY);
    assert.deepEqual(
      retry?.messages.slice(-2).map(({ calls: made, results }) => [made.length, results.map(({ id }) => id)]),
      [
        [1, []],
        [0, ["call-1"]],
      ],
    );
    const results = (await setting.entries()).filter(
      (entry) => entry.type === "message" && entry.message.role === "toolResult",
    );
    assert.equal(results.length, 1);
  });

  it("a second overflow is a clear error after one compaction, and the session stays usable", async () => {
    const calls = await open({ compact: ownSummary });
    setting.turns.push(OVERFLOW, OVERFLOW);
    const events = await setting.run("what was that?");
    const [failed] = ofType(events, "turn.failed");
    assert.equal(failed?.error.code, "context_overflow");
    assert.match(failed?.error.message ?? "", /too long again after a compaction.*\/new/s);
    assert.equal(calls.compact.length, 1);
    assert.equal(setting.turnBodies().length, 4);
    assert.equal((await setting.status()).lastTurn?.code, "context_overflow");
    await setting.ask("and now?");
    // The unanswered input is not sent again, and not lost.
    const next =
      setting
        .turnBodies()
        .at(-1)
        ?.messages.map(({ text }) => text) ?? [];
    assert.ok(next.every((text) => !text.includes("what was that?")));
    // The compaction was paid for: it is kept without the input that led to it.
    assert.equal(summaryIn(setting.turnBodies().at(-1)), ENGINE_SUMMARY);
    assert.equal((await setting.status()).compactions, 1);
    assert.equal(calls.compact.length, 1);
  });

  it("an engine that compacts nothing ends it with one sentence, without a retry", async () => {
    const calls = await open({
      compact: async () => ({ ok: true, compacted: false, reason: "nothing to do" }),
    });
    setting.turns.push(OVERFLOW);
    const events = await setting.run("what was that?");
    assert.equal(calls.compact.length, 1);
    assert.equal(setting.turnBodies().length, 3);
    assert.equal(ofType(events, "compaction.failed")[0]?.reason, "nothing to do");
    const [failed] = ofType(events, "turn.failed");
    assert.equal(failed?.error.code, "context_overflow");
    assert.match(failed?.error.message ?? "", /nothing that a compaction could shorten/);
  });

  it("an engine that could not compact is a degradation with its reason", async () => {
    await open({ compact: async () => ({ ok: false, compacted: false, reason: "my store is gone" }) });
    const events = await setting.ask(filler(14_500, "cedar"));
    const [first, ...more] = ofType(events, "context.degraded");
    assert.equal(first?.stage, "compact");
    assert.match(first?.reason ?? "", /recorder could not compact: my store is gone/);
    // What then does not fit is left out of the request, with a report.
    assert.deepEqual(
      more.map(({ stage }) => stage),
      ["trim"],
    );
    assert.equal(ofType(events, "compaction.failed").length, 1);
    assert.ok(
      setting
        .turnBodies()
        .at(-1)
        ?.messages.every(({ text }) => text !== FIRST),
    );
    assert.equal((await setting.status()).compactions, 0);
  });

  it("a compact() that throws is a degradation, the history is as it was", async () => {
    await open({ compact: () => Promise.reject(new Error("the engine broke")) });
    setting.turns.push(OVERFLOW);
    const events = await setting.run("what was that?");
    const [degraded] = ofType(events, "context.degraded");
    assert.equal(degraded?.stage, "compact");
    assert.match(degraded?.reason ?? "", /the engine broke/);
    assert.equal(ofType(events, "turn.failed")[0]?.error.code, "context_overflow");
    assert.equal((await setting.status()).compactions, 0);
    await setting.ask("go on");
    assert.ok(
      setting
        .turnBodies()
        .at(-1)
        ?.messages.some(({ text }) => text === FIRST),
    );
  });

  it("an engine may keep its compactions in its own store: it is called again and its new answer is sent", async () => {
    let short = false;
    const calls = await open({
      info: { ownsCompaction: true },
      assemble: ({ messages }) => ({
        messages: short ? [{ role: "user", content: "From the engine's own store." }] : messages,
        estimatedTokens: 0,
      }),
      compact: async () => {
        short = true;
        return { ok: true, compacted: true, result: { tokensBefore: 12_000, tokensAfter: 10 } };
      },
    });
    setting.turns.push(OVERFLOW);
    const asked = calls.assemble.length;
    const events = await setting.ask("what was that?");
    assert.equal(calls.assemble.length, asked + 2);
    const [completed] = ofType(events, "compaction.completed");
    assert.deepEqual([completed?.tokensBefore, completed?.tokensAfter], [12_000, 10]);
    const retry = setting.turnBodies().at(-1);
    assert.match(retry?.messages[0]?.text ?? "", /^From the engine's own store\./);
    assert.ok(retry?.messages.at(-1)?.text.endsWith("what was that?"));
    assert.equal((await setting.status()).compactions, 1);
  });
});

describe("a context inside a turn that cannot be sent at all", () => {
  afterEach(() => setting.end());

  const cancelling: SettingOptions = {
    plugin: (api) => api.on("session_before_compact", () => ({ cancel: true })),
  };

  it("goes to the queued lane when the run's own compaction made nothing", async () => {
    const calls = await open({ compact: ownSummary }, cancelling);
    setting.turns.push(callsBig(19_500));
    const events = await setting.ask("look it up");
    assert.equal(calls.compact.length, 1);
    assert.deepEqual(
      ofType(events, "compaction.started").map(({ lane, trigger }) => [lane, trigger]),
      [
        ["in-attempt", "overflow"],
        ["queued", "threshold"],
      ],
    );
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "recorder");
    assert.equal(summaryIn(setting.turnBodies().at(-1)), ENGINE_SUMMARY);
  });

  it("does not while it still fits in the window", async () => {
    const calls = await open({ compact: ownSummary }, cancelling);
    setting.turns.push(callsBig(14_500));
    await setting.ask("look it up");
    assert.equal(calls.compact.length, 0);
  });
});

describe("delegateCompactionToRuntime", () => {
  afterEach(() => setting.end());

  it("runs the built-in compaction with the focus of /compact, for the engine that was called", async () => {
    const calls = await open({});
    const result = await setting.compact("the colours");
    assert.equal(result.compacted, true);
    const [params] = calls.compact;
    assert.equal(params?.customInstructions, "the colours");
    assert.equal(params?.force, true);
    assert.equal(params?.compactionTarget, "threshold");
    assert.equal(params?.runtimeContext?.manualCompaction, true);
    const [request, ...more] = setting.summaryBodies();
    assert.deepEqual(more, []);
    assert.match(request?.messages[0]?.text ?? "", /The user asks of this summary: the colours/);
    assert.match(request?.messages[0]?.text ?? "", /amber amber/);
    assert.doesNotMatch(request?.messages[0]?.text ?? "", /birch/);
    const [fact] = (await setting.status()).recentCompactions;
    assert.equal(fact?.handledBy, "recorder");
    assert.deepEqual([fact?.tokensBefore, fact?.tokensAfter], [result.tokensBefore, result.tokensAfter]);
  });

  it("the summary's own call has no engine, no tools and no compaction of its own", async () => {
    const calls = await open({
      assemble: ({ messages }) => ({
        messages,
        estimatedTokens: 0,
        systemPromptAddition: "From the engine.",
      }),
    });
    const asked = calls.assemble.length;
    const turns = calls.afterTurn.length;
    await setting.compact();
    assert.deepEqual([calls.assemble.length, calls.afterTurn.length], [asked, turns]);
    const [summary] = setting.summaryBodies();
    assert.deepEqual(summary?.tools, []);
    assert.doesNotMatch(summary?.system ?? "", /From the engine/);
    assert.match(setting.turnBodies()[0]?.system ?? "", /From the engine/);
  });

  it("reports that the summary is an extract when the model could not write it", async () => {
    await open({}, { summaries: [{ status: 400 }] });
    setting.turns.push(OVERFLOW);
    const events = await setting.ask("what was that?");
    const [degraded, ...more] = ofType(events, "context.degraded");
    assert.deepEqual(more, []);
    assert.equal(degraded?.stage, "compact");
    assert.match(degraded?.reason ?? "", /the summary is an extract, because its model failed/);
    assert.equal(ofType(events, "compaction.completed").length, 1);
  });

  it("a summary's call that overflows is not recovered by another compaction", async () => {
    const calls = await open({}, { summaries: Array.from({ length: 30 }, () => OVERFLOW) });
    const result = await setting.compact();
    assert.equal(calls.compact.length, 1);
    assert.equal(calls.assemble.length, 2);
    // Smaller pieces were tried, then the extract that needs no model.
    assert.equal(result.compacted, true);
    const compaction = (await setting.entries()).find((entry) => entry.type === "compaction");
    assert.equal(compaction?.type === "compaction" && compaction.origin, "extractive");
    assert.equal((await setting.status()).compactions, 1);
  });
});

describe("autoCompactionSummary", () => {
  afterEach(() => setting.end());

  it("is passed to afterTurn of the turn in which the run compacted, and to no other", async () => {
    const calls = await open({});
    setting.turns.push(callsBig(14_500));
    await setting.ask("look it up");
    await setting.ask("go on");
    assert.deepEqual(
      calls.afterTurn.map((params) => "autoCompactionSummary" in params),
      [false, false, true, false],
    );
    assert.equal(calls.afterTurn[2]?.autoCompactionSummary?.slice(0, MODEL_SUMMARY.length), MODEL_SUMMARY);
  });

  it("is the interceptor's when it made the summary", async () => {
    const calls = await open({ info: { interceptsCompaction: true }, intercept: handled });
    setting.turns.push(callsBig(14_500));
    await setting.ask("look it up");
    assert.equal(calls.afterTurn.at(-1)?.autoCompactionSummary, INTERCEPTED_SUMMARY);
  });

  it("is absent after a compaction that the engine itself was called for", async () => {
    const calls = await open({ compact: ownSummary });
    setting.turns.push(OVERFLOW);
    await setting.ask("what was that?");
    assert.equal(calls.compact.length, 1);
    assert.ok(calls.afterTurn.every((params) => !("autoCompactionSummary" in params)));
  });
});

describe("safeguard mode", () => {
  const safeguard = { compaction: { ...RESERVES, mode: "safeguard" } };
  const LACKING = "## Goal\nOnly a goal.";
  afterEach(() => setting.end());

  /** The engine intercepts and declines, so that the lane is on and the safeguard is the handler. */
  const declining: EngineSpec = {
    info: { interceptsCompaction: true },
    intercept: async () => ({ handled: false, reason: "no" }),
  };

  it("retries once for a summary that lacks a part, and uses the complete one", async () => {
    await open(declining, { ...safeguard, summaries: [{ text: LACKING }] });
    setting.turns.push(callsBig(14_500));
    const events = await setting.ask("look it up");
    const [first, second, ...more] = setting.summaryBodies();
    assert.deepEqual(more, []);
    assert.doesNotMatch(first?.messages[0]?.text ?? "", /not accepted/);
    assert.match(second?.messages[0]?.text ?? "", /not accepted: it lacks the heading "## State"/);
    assert.match(second?.messages[0]?.text ?? "", /Only a goal/);
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "safeguard");
    assert.equal(summaryIn(setting.turnBodies().at(-1))?.slice(0, MODEL_SUMMARY.length), MODEL_SUMMARY);
  });

  it("refuses one that lacks it again: the history is untouched and the turn continues", async () => {
    await open(declining, { ...safeguard, summaries: [{ text: LACKING }, { text: LACKING }] });
    const before = await setting.entries();
    setting.turns.push(callsBig(14_500));
    const events = await setting.ask("look it up");
    assert.equal(setting.summaryBodies().length, 2);
    const [failed] = ofType(events, "compaction.failed");
    assert.match(failed?.reason ?? "", /it lacks the part "State".*also when asked again/);
    assert.deepEqual(ofType(events, "compaction.completed"), []);
    assert.equal((await setting.status()).compactions, 0);
    assert.deepEqual((await setting.entries()).slice(0, before.length), before);
    assert.equal(summaryIn(setting.turnBodies().at(-1)), undefined);
  });

  it("refuses it on /compact too, with the reason", async () => {
    await open({}, { ...safeguard, summaries: [{ text: LACKING }, { text: LACKING }] });
    const before = await setting.entries();
    const result = await setting.compact();
    assert.equal(result.compacted, false);
    assert.match(result.reason ?? "", /the context is unchanged/);
    const after = await setting.entries();
    assert.deepEqual(after.slice(0, before.length), before);
    assert.deepEqual(
      after.slice(before.length).map((entry) => entry.type === "custom" && entry.customType),
      ["pagurus.degraded"],
    );
    await setting.ask("go on");
    assert.ok(
      setting
        .turnBodies()
        .at(-1)
        ?.messages.some(({ text }) => text === FIRST),
    );
  });

  it("uses no extract when the model fails, unlike the default mode", async () => {
    const failing = { status: 400 };
    await open({}, { ...safeguard, summaries: [failing] });
    assert.equal((await setting.compact()).compacted, false);
    setting.configure(RESERVES);
    await setting.pagurus.reload();
    setting.summaries.push(failing);
    assert.equal((await setting.compact()).compacted, true);
  });

  it("a plugin's summary replaces the safeguard's, which is then not written", async () => {
    await open(declining, {
      ...safeguard,
      plugin: (api) =>
        api.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
          compaction: { summary: "A plugin wrote this.", firstKeptEntryId, tokensBefore },
        })),
    });
    setting.turns.push(callsBig(14_500));
    const events = await setting.ask("look it up");
    assert.equal(ofType(events, "compaction.completed")[0]?.handledBy, "hooks");
    assert.deepEqual(setting.summaryBodies(), []);
  });
});
