/** How the host uses an engine's answer: its estimate, its first message, an answer that does not fit. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { AssembleParams, AssembleResult } from "../../../packages/contract/src/engine/engine-params.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { filler, LaneSetting, ofType, ownSummary, recordingEngine, RESERVES, type Calls } from "./setting.ts";

let setting: LaneSetting;

async function open(
  assemble: (params: AssembleParams) => AssembleResult,
  info: { ownsCompaction?: boolean; governsContext?: boolean } = {},
): Promise<Calls> {
  const { engine, calls } = recordingEngine({
    info: { assembleScope: "call", ...info },
    assemble,
    compact: (params) => (info.ownsCompaction ? nothing() : ownSummary(params)),
  });
  setting = await LaneSetting.open({ engine, compaction: RESERVES });
  return calls;
}

function nothing(): Promise<{ ok: boolean; compacted: boolean }> {
  return Promise.resolve({ ok: true, compacted: false });
}

function reasons(events: readonly TurnEvent[]): string[] {
  return ofType(events, "context.degraded").map(({ stage, reason }) => `${stage}: ${reason}`);
}

function texts(): string[] {
  return (setting.turnBodies().at(-1)?.messages ?? []).map(({ text }) => text);
}

describe("estimatedTokens", () => {
  afterEach(() => setting.end());

  it("drives the threshold, the count that compact() gets, and the gauge (finding B1)", async () => {
    const calls = await open(({ messages }) => ({ messages, estimatedTokens: 9_999_999 }));
    await setting.ask("amber");
    const events = await setting.ask("birch");
    assert.ok((calls.compact.at(-1)?.currentTokenCount ?? 0) >= 9_999_999);
    const [completed] = ofType(events, "turn.completed");
    assert.ok((completed?.context?.tokens ?? 0) >= 9_999_999);
    assert.ok((await setting.status()).context.tokens >= 9_999_999);
    assert.deepEqual(texts().at(-1), "birch");
  });

  it("that is lower than the host's count changes nothing, and without one the context is used (finding B1)", async () => {
    const calls = await open(({ messages }) => ({ messages }));
    await setting.ask("amber");
    const events = await setting.ask("birch");
    assert.deepEqual(reasons(events), []);
    assert.equal(calls.compact.length, 0);
    assert.deepEqual(texts(), ["amber", "ok", "birch"]);
    const [completed] = ofType(events, "turn.completed");
    assert.ok((completed?.context?.tokens ?? 0) > 0);
  });

  it("that is no count fails the answer", async () => {
    await open(({ messages }) => ({ messages, estimatedTokens: Number.NaN }));
    assert.match(reasons(await setting.ask("amber")).join(), /estimatedTokens is not a count/);
  });
});

describe("a context of an engine", () => {
  afterEach(() => setting.end());

  it("that begins with an assistant message is opened by a user message, with a degradation (finding B6)", async () => {
    await open(({ messages }) => ({ messages: messages.slice(messages[0]?.role === "user" ? 1 : 0) }));
    await setting.ask("amber");
    const events = await setting.ask("birch");
    assert.deepEqual(
      setting
        .turnBodies()
        .at(-1)
        ?.messages.map(({ role }) => role),
      ["user", "assistant", "user"],
    );
    assert.match(reasons(events).join(), /assemble: .*recorder.* began with no user message/);
    const { degraded } = await setting.status();
    assert.equal(degraded.filter(({ stage }) => stage === "assemble").length, 1);
  });

  it("whose orphan tool result was dropped is a degradation (finding B6)", async () => {
    const orphan: AgentMessage = {
      role: "toolResult",
      toolCallId: "gone",
      toolName: "shell",
      content: [{ type: "text", text: "of no call" }],
      isError: false,
    };
    await open(({ messages }) => ({ messages: [...messages, orphan] }));
    await setting.ask("amber");
    const events = await setting.ask("birch");
    assert.deepEqual(texts(), ["amber", "ok", "birch"]);
    assert.match(reasons(events).join(), /assemble: .*repaired: Message \d is a result of call gone/);
  });
});

describe("a context that does not fit by the host's count", () => {
  afterEach(() => setting.end());

  const SUMMARY = '<summary id="s1">what was said before</summary>';

  /** Keeps within its budget by its own count: each message has this many tokens; the newest ones first. */
  function filling(own: number): (params: AssembleParams) => AssembleResult {
    return ({ messages, tokenBudget = 0 }) => {
      const count = Math.floor(tokenBudget / own);
      const kept = messages.slice(-count);
      const from = kept.findIndex(({ role }) => role === "user");
      const summary: AgentMessage = { role: "user", content: SUMMARY };
      return {
        messages: [summary, ...kept.slice(Math.max(0, from))],
        estimatedTokens: kept.length * own,
      };
    };
  }

  it("is requested again with a smaller budget in the engine's own units, and nothing is trimmed (finding B7)", async () => {
    // Each turn has about 3,000 tokens by the host's count, and 1,800 by the engine's.
    const calls = await open(filling(900), { ownsCompaction: true });
    const all: TurnEvent[] = [];
    for (let turn = 0; turn < 12; turn += 1) all.push(...(await setting.ask(filler(3_000, `w${turn}`))));
    assert.deepEqual(
      reasons(all).filter((reason) => reason.startsWith("trim")),
      [],
    );
    const { budget } = (await setting.status()).context;
    const smaller = calls.assemble.filter(({ tokenBudget = 0 }) => tokenBudget < budget - 1);
    assert.ok(smaller.length > 0);
    for (const { tokenBudget, runtimeContext } of smaller)
      assert.equal(runtimeContext?.tokenBudget, tokenBudget);
    assert.equal(calls.compact.length, 0);
    assert.ok(texts()[0]?.startsWith("<summary"));
  });

  it("drops its oldest messages before the summary that a foreign engine put first (finding B7)", async () => {
    const summary: AgentMessage = { role: "user", content: SUMMARY };
    await open(({ messages }) => ({ messages: [summary, ...messages] }), { ownsCompaction: true });
    const all: TurnEvent[] = [];
    for (let turn = 0; turn < 9; turn += 1) all.push(...(await setting.ask(filler(3_000, `w${turn}`))));
    assert.ok(reasons(all).some((reason) => reason.startsWith("trim")));
    const sent = texts();
    assert.ok(sent[0]?.startsWith(SUMMARY));
    assert.ok(!sent.some((text) => text.includes("w0 ")));
    assert.ok(sent.some((text) => text.includes("w7 ")));
  });
});

describe("a new epoch of an engine", () => {
  afterEach(() => setting.end());

  const SUMMARY: AgentMessage = { role: "user", content: "<summary>what was said before</summary>" };

  /** From the third question on, the engine shows a summary and the newest message only. */
  function epochs({ prompt, messages }: AssembleParams): AssembleResult {
    const isNew = prompt === "cedar" || messages.length > 4;
    const contextProjection = { mode: "thread_bootstrap" as const, epoch: isNew ? "two" : "one" };
    return { messages: isNew ? [SUMMARY] : messages, contextProjection };
  }

  it("without a lane's compaction is an event, an entry, and a compaction of status with its gauge (finding B8)", async () => {
    await open(epochs, { ownsCompaction: true });
    for (const word of ["amber", "birch"])
      assert.deepEqual(ofType(await setting.ask(filler(4_000, word)), "compaction.completed"), []);
    const before = (await setting.status()).context.tokens;
    const events = await setting.ask("cedar");
    const [event] = ofType(events, "compaction.completed");
    assert.deepEqual(
      [event?.lane, event?.handledBy, event?.ownsCompaction, event?.tokensBefore],
      ["engine", "recorder", true, event?.tokensBefore],
    );
    assert.ok((event?.tokensBefore ?? 0) > 7_000, `${event?.tokensBefore}`);
    assert.ok((event?.tokensAfter ?? Infinity) < 100, `${event?.tokensAfter}`);
    const { compactions, recentCompactions, context, lastRequest } = await setting.status();
    assert.equal(compactions, 1);
    assert.deepEqual(
      recentCompactions.map(({ lane, handledBy }) => [lane, handledBy]),
      [["engine", "recorder"]],
    );
    assert.equal(lastRequest?.epoch, "two");
    assert.ok(before > 7_000 && context.tokens < 200, `${before} → ${context.tokens}`);
    assert.deepEqual(ofType(await setting.ask("elder"), "compaction.completed"), []);
  });

  it("from a lane's compaction is reported by that lane alone, and counted once (finding B8)", async () => {
    let epoch = 1;
    const { engine } = recordingEngine({
      info: { assembleScope: "call", ownsCompaction: true },
      assemble: ({ messages }) => ({
        messages: epoch > 1 ? messages.slice(-1) : messages,
        contextProjection: { mode: "thread_bootstrap", epoch: `${epoch}` },
      }),
      compact: () => {
        epoch += 1;
        return Promise.resolve({
          ok: true,
          compacted: true,
          result: { tokensBefore: 4_000, tokensAfter: 40 },
        });
      },
    });
    setting = await LaneSetting.open({ engine, compaction: RESERVES });
    await setting.ask(filler(4_000));
    await setting.compact();
    const { compactions, context } = await setting.status();
    assert.deepEqual([compactions, context.tokens < 200], [1, true]);
    assert.deepEqual(ofType(await setting.ask("birch"), "compaction.completed"), []);
    assert.equal((await setting.status()).compactions, 1);
  });
});
