/** A harness's compaction of its own history: offered to the engine, inside a turn. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { CompactionInterceptRequest } from "../../../packages/contract/src/engine/engine-compaction.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type {
  AgentHarness,
  AssembledContext,
  HarnessTurn,
} from "../../../packages/contract/src/harness/harness.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { CompactionQuestion } from "../../../packages/contract/src/harness/native-compaction.ts";
import type { PluginApi } from "../../../packages/contract/src/host/plugin.ts";
import type { TranscriptEntry } from "../../../packages/contract/src/session/transcript.ts";
import { Bench, eventsOf, words } from "../in-process.ts";
import { modelConfig } from "../setting.ts";
import {
  filler,
  handled,
  ID,
  INTERCEPTED_SUMMARY,
  MODEL_SUMMARY,
  ofType,
  ownSummary,
  recordingEngine,
  type Calls,
  type EngineSpec,
} from "./setting.ts";
import { startWith } from "../start-with.ts";

const INTERCEPTS = { interceptsCompaction: true };
const THRESHOLD: CompactionQuestion = { trigger: "threshold" };

type Act = (turn: HarnessTurn) => Promise<void>;

/** A harness that follows a script and answers each turn. */
function shell(act: () => Act | undefined, more: Partial<AgentHarness> = {}): AgentHarness {
  return {
    id: "shell",
    label: "Shell",
    contract: "pagurus.harness/2",
    execution: { kind: "external" },
    seam: "wire",
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
    supports: () => ({ supported: true }),
    start: startWith(async (turn) => {
      await turn.context.assemble();
      await act()?.(turn);
      const content = [{ type: "text" as const, text: "Answer." }];
      await turn.io.emit({ type: "message", message: { role: "assistant", content, stopReason: "stop" } });
      turn.signal.throwIfAborted();
      return { stopReason: "stop", usage: { input: 1, output: 1, totalTokens: 2 } };
    }),
    ...more,
  };
}

interface Opened {
  pagurus: Pagurus;
  calls: Calls;
}

describe("a compaction that a harness is about to make", () => {
  let bench: Bench;
  let act: Act | undefined;
  beforeEach(async () => {
    act = undefined;
    bench = await Bench.with(() => ({ text: MODEL_SUMMARY }));
  });
  afterEach(() => bench.end());

  async function open(
    spec: EngineSpec,
    more: {
      plugin?: (api: PluginApi) => void;
      compaction?: Record<string, unknown>;
      harness?: Partial<AgentHarness>;
    } = {},
  ): Promise<Opened> {
    const { engine, calls } = recordingEngine(spec);
    const pagurus = await bench.host({
      engine,
      ...(more.plugin ? { plugin: more.plugin } : {}),
      defaults: {
        models: { "test/model": { agentRuntime: { id: "shell" } } },
        ...(more.compaction ? { compaction: more.compaction } : {}),
      },
      more: { harnesses: [shell(() => act, more.harness)] },
    });
    return { pagurus, calls };
  }

  /** A turn before it, then one in which the harness asks. */
  async function asking(
    { pagurus }: Opened,
    question: CompactionQuestion = THRESHOLD,
    more: { signal?: AbortSignal } = {},
  ): Promise<{ answer: { summary: string } | undefined; events: TurnEvent[] }> {
    await bench.ask(pagurus, filler(600));
    let answer: { summary: string } | undefined;
    act = async (turn) => {
      answer = await turn.context.answerCompaction(question);
    };
    const events = await eventsOf(pagurus.run({ prompt: "Second?", cwd: bench.root, ...more }));
    return { answer, events };
  }

  async function entries(pagurus: Pagurus): Promise<TranscriptEntry[]> {
    const reader = pagurus.sessions().openReader("main");
    const found: TranscriptEntry[] = [];
    for await (const entry of reader.cursor.forward()) found.push(entry);
    reader.close();
    return found;
  }

  it("is offered with the history before the turn, and the turn's input as the first message to keep", async () => {
    const opened = await open({ info: INTERCEPTS });
    const { answer } = await asking(opened, {
      trigger: "overflow",
      tokensBefore: 1_234,
      customInstructions: "Mind the colours.",
    });
    assert.deepEqual(answer, { summary: INTERCEPTED_SUMMARY });
    const [request, ...others] = opened.calls.intercept;
    assert.deepEqual(others, []);
    assert.ok(request);
    const input = (await entries(opened.pagurus)).find(
      (entry) => entry.type === "message" && words(entry.message) === "Second?",
    );
    const { messages, sessionFile: _file, sessionId: _id, signal: _signal, ...rest } = request;
    assert.deepEqual(rest, {
      sessionKey: "main",
      contextWindow: 100_000,
      firstKeptEntryId: input?.id,
      tokensBefore: 1_234,
      customInstructions: "Mind the colours.",
      trigger: "overflow",
      backend: "shell",
    });
    assert.deepEqual(
      messages.map((message) => [message.role, words(message).slice(0, 7)]),
      [
        ["user", "amber a"],
        ["assistant", "Answer."],
      ],
    );
  });

  it("inside a turn is offered with the turn's work, but not with unanswered input", async () => {
    const opened = await open({ info: INTERCEPTS });
    await bench.ask(opened.pagurus, filler(600));
    act = async (turn) => {
      const call = { type: "toolCall" as const, id: "c1", name: "look", arguments: {} };
      await turn.io.emit({
        type: "message",
        message: { role: "assistant", content: [call], stopReason: "toolUse" },
      });
      const content = [{ type: "text" as const, text: "The quay." }];
      const result = {
        role: "toolResult" as const,
        toolCallId: "c1",
        toolName: "look",
        content,
        isError: false,
      };
      await turn.io.emit({ type: "message", message: result });
      await turn.context.answerCompaction(THRESHOLD);
      steer("And the crab?");
      await turn.io.inputArrives();
      await turn.io.takeInputs();
      await turn.context.answerCompaction(THRESHOLD);
    };
    const run = opened.pagurus.run({ prompt: "Second?", cwd: bench.root });
    const steer = (text: string): void => void run.steer(text);
    await eventsOf(run);
    const messages = (await entries(opened.pagurus)).filter(({ type }) => type === "message");
    const [result, steered] = messages.slice(4);
    assert.deepEqual(
      opened.calls.intercept.map(({ messages, firstKeptEntryId }) => [messages.length, firstKeptEntryId]),
      [
        [5, result?.id],
        [5, steered?.id],
      ],
    );
    assert.deepEqual(
      opened.calls.intercept[1]?.messages.map(({ role }) => role),
      ["user", "assistant", "user", "assistant", "toolResult"],
    );
  });

  it("is counted by the host when the harness has no count, and reported in events, hooks and status", async () => {
    const hooks: string[] = [];
    const plugin = (api: PluginApi): void => {
      api.on("before_compaction", ({ lane, trigger }) => void hooks.push(`before ${lane} ${trigger}`));
      api.on("after_compaction", ({ lane, trigger }) => void hooks.push(`after ${lane} ${trigger}`));
    };
    const opened = await open({ info: INTERCEPTS }, { plugin });
    const { events } = await asking(opened);
    const [started, ...more] = ofType(events, "compaction.started");
    const [completed] = ofType(events, "compaction.completed");
    assert.deepEqual(more, []);
    const facts = { lane: "harness", trigger: "threshold", backend: "shell", ownsCompaction: false };
    assert.ok(started && completed);
    const { tokensBefore } = started;
    assert.ok(tokensBefore > 500, String(tokensBefore));
    assert.deepEqual(started, { type: "compaction.started", ...facts, tokensBefore });
    const { tokensAfter, ...event } = completed;
    assert.deepEqual(event, { type: "compaction.completed", ...facts, tokensBefore, handledBy: ID });
    assert.ok(tokensAfter > 0 && tokensAfter < tokensBefore, String(tokensAfter));
    assert.equal(opened.calls.intercept[0]?.tokensBefore, tokensBefore);
    assert.deepEqual(hooks, ["before harness threshold", "after harness threshold"]);
    const status = await opened.pagurus.status({ cwd: bench.root });
    const [fact, ...further] = status.recentCompactions;
    assert.deepEqual(further, []);
    assert.deepEqual(
      [fact?.lane, fact?.trigger, fact?.handledBy, fact?.tokensBefore, fact?.tokensAfter],
      ["harness", "threshold", ID, tokensBefore, tokensAfter],
    );
  });

  it("leaves every message of the transcript in the context, and the engine is called again", async () => {
    const opened = await open({ info: INTERCEPTS });
    await bench.ask(opened.pagurus, filler(600));
    const contexts: AssembledContext[] = [];
    const before = opened.calls.assemble.length;
    act = async (turn) => {
      contexts.push(await turn.context.assemble());
      await turn.context.answerCompaction(THRESHOLD);
      contexts.push(await turn.context.assemble());
    };
    await bench.ask(opened.pagurus, "Second?");
    const [first, second] = contexts;
    assert.deepEqual(second?.messages, first?.messages);
    // Of a turn-scoped engine: once at the turn's start, once after the compaction.
    assert.equal(opened.calls.assemble.length - before, 2);
    assert.deepEqual(
      (await entries(opened.pagurus)).filter(({ type }) => type === "compaction"),
      [],
    );
  });

  it("is the harness's own when there is no history before the turn", async () => {
    const opened = await open({ info: INTERCEPTS });
    let answer: unknown = "not asked";
    act = async (turn) => {
      answer = await turn.context.answerCompaction(THRESHOLD);
    };
    await bench.ask(opened.pagurus, "First?");
    assert.equal(answer, undefined);
    assert.deepEqual(opened.calls.intercept, []);
  });

  it("is not offered to an engine that does not intercept", async () => {
    const opened = await open({ info: {} });
    const { answer, events } = await asking(opened);
    assert.equal(answer, undefined);
    assert.deepEqual(opened.calls.intercept, []);
    assert.deepEqual(ofType(events, "context.degraded"), []);
  });

  const refusals: [string, EngineSpec["intercept"] & {}, RegExp | undefined][] = [
    ["does not handle it", async () => ({ handled: false, reason: "too small for me" }), undefined],
    ["throws", () => Promise.reject(new Error("the interceptor broke")), /the interceptor broke/],
    ["hangs", () => new Promise(() => undefined), /took longer than 100 ms/],
    [
      "gives no summary",
      async (request) => ({ ...(await handled(request)), summary: " " }) as never,
      /no summary/,
    ],
    [
      "makes nothing smaller",
      async (request) => ({ ...(await handled(request)), summary: filler(5_000) }) as never,
      /not taken: it makes nothing smaller/,
    ],
  ];
  for (const [title, intercept, reason] of refusals) {
    it(`is the harness's own when the engine ${title}, and the turn continues`, async () => {
      const opened = await open({ info: INTERCEPTS, intercept }, { compaction: { timeoutSeconds: 0.1 } });
      const { answer, events } = await asking(opened);
      assert.equal(answer, undefined);
      assert.equal(opened.calls.intercept.length, 1);
      assert.deepEqual(
        events.filter(({ type }) => type.startsWith("compaction.")),
        [],
      );
      const degraded = ofType(events, "context.degraded");
      assert.deepEqual(
        degraded.map(({ stage }) => stage),
        reason ? ["intercept"] : [],
      );
      if (reason) assert.match(degraded[0]?.reason ?? "", reason);
      assert.equal(events.at(-1)?.type, "turn.completed");
      assert.equal((await opened.pagurus.status({ cwd: bench.root })).compactions, 0);
    });
  }

  it("is ignored once the harness has given up waiting, without a failure of the engine", async () => {
    const gone = new AbortController();
    const signals: AbortSignal[] = [];
    const intercept = (request: CompactionInterceptRequest): ReturnType<typeof handled> => {
      signals.push(request.signal);
      gone.abort();
      return handled(request);
    };
    const opened = await open({ info: INTERCEPTS, intercept });
    const { answer, events } = await asking(opened, { trigger: "threshold", signal: gone.signal });
    assert.equal(answer, undefined);
    assert.equal(signals[0]?.aborted, true);
    assert.deepEqual(ofType(events, "context.degraded"), []);
    assert.equal(events.at(-1)?.type, "turn.completed");
  });

  it("is aborted with its turn", async () => {
    const stop = new AbortController();
    const intercept = (): Promise<never> => (stop.abort(), new Promise(() => undefined));
    const opened = await open({ info: INTERCEPTS, intercept });
    const { answer, events } = await asking(opened, THRESHOLD, { signal: stop.signal });
    assert.equal(answer, undefined);
    const last = events.at(-1);
    assert.equal(last?.type === "turn.completed" && last.stopReason, "aborted");
  });

  it("is not answered by a turn that is over", async () => {
    const opened = await open({ info: INTERCEPTS });
    await bench.ask(opened.pagurus, filler(600));
    let turn: HarnessTurn | undefined;
    act = async (running) => {
      turn = running;
    };
    await bench.ask(opened.pagurus, "Second?");
    assert.equal(await turn?.context.answerCompaction(THRESHOLD), undefined);
    assert.deepEqual(opened.calls.intercept, []);
  });

  it("is answered by the lossless engine, inside a turn and between turns, and no model is called", async () => {
    const models = { "test/model": { agentRuntime: { id: "shell" } } };
    const pagurus = await bench.host({
      more: {
        harnesses: [shell(() => act)],
        config: modelConfig(
          "openai-completions",
          bench.server.url,
          {},
          {
            agents: { defaults: { models } },
            logging: { level: "silent" },
            plugins: { slots: { contextEngine: "lossless" } },
          },
        ),
      },
    });
    for (const colour of ["amber", "birch", "cobalt"])
      await bench.ask(pagurus, `The ${colour} boat is at the pier. ${filler(700, colour)}`);
    const answers: (string | undefined)[] = [];
    const contexts: AssembledContext[] = [];
    act = async (turn) => {
      contexts.push(await turn.context.assemble());
      answers.push((await turn.context.answerCompaction({ trigger: "overflow" }))?.summary);
      contexts.push(await turn.context.assemble());
    };
    await bench.ask(pagurus, "Where is the amber boat?");
    act = undefined;
    const asked = bench.server.requests.length;
    assert.equal(asked, 0, "the extract needs no model");
    assert.match(answers[0] ?? "", /amber boat/);
    const [before, after] = contexts.map(({ estimatedTokens }) => estimatedTokens);
    assert.ok(before && after && after < before, `${before} ${after}`);
    assert.equal(words(contexts[1]?.messages.at(-1) ?? assert.fail()), "Where is the amber boat?");
    for (const colour of ["dusk", "ember"])
      await bench.ask(pagurus, `The ${colour} boat is at the pier. ${filler(700, colour)}`);
    const question = { runtime: "shell", cwd: bench.root, trigger: "manual" as const };
    const { summary } = (await pagurus.native.answerCompaction(question)) ?? {};
    assert.match(summary ?? "", /boat/);
    const { recentCompactions } = await pagurus.status({ cwd: bench.root });
    assert.deepEqual(
      recentCompactions.map(({ lane, handledBy }) => [lane, handledBy]),
      [
        ["queued", "lossless"],
        ["harness", "lossless"],
      ],
    );
  });

  describe("between turns", () => {
    const asked = async (
      { pagurus }: Opened,
      question: CompactionQuestion,
    ): Promise<{ summary: string } | undefined> => {
      return pagurus.native.answerCompaction({ runtime: "shell", cwd: bench.root, ...question });
    };

    const compactionsOf = async ({ pagurus }: Opened): Promise<unknown[]> => {
      const { recentCompactions } = await pagurus.status({ cwd: bench.root });
      return recentCompactions.map(({ lane, handledBy }) => [lane, handledBy]);
    };

    it("is offered with the whole conversation", async () => {
      const opened = await open({ info: INTERCEPTS });
      await bench.ask(opened.pagurus, filler(600));
      assert.deepEqual(await asked(opened, THRESHOLD), { summary: INTERCEPTED_SUMMARY });
      const [request] = opened.calls.intercept;
      assert.deepEqual(
        request?.messages.map(({ role }) => role),
        ["user", "assistant"],
      );
      assert.equal(request.firstKeptEntryId, request.messages.at(-1)?.entryId);
      assert.equal(request.backend, "shell");
      assert.deepEqual(opened.calls.compact, []);
      assert.deepEqual(await compactionsOf(opened), [["harness", ID]]);
      await bench.ask(opened.pagurus, "Go on.");
    });

    it("for a user's request is first made by an engine that owns compaction, whose text is the answer", async () => {
      const opened = await open({ info: { ...INTERCEPTS, ownsCompaction: true }, compact: ownSummary });
      await bench.ask(opened.pagurus, filler(600));
      await bench.ask(opened.pagurus, "And the crab?");
      const answer = await asked(opened, { trigger: "manual", customInstructions: "the crab" });
      assert.match(answer?.summary ?? "", /compact\(\) wrote this/);
      assert.equal(opened.calls.compact[0]?.customInstructions, "the crab");
      assert.equal(opened.calls.compact[0]?.runtimeContext?.manualCompaction, true);
      assert.deepEqual(opened.calls.intercept, [], "each asking may compact once more");
      assert.deepEqual(await compactionsOf(opened), [["queued", ID]]);
    });

    it("is answered by the interception when an engine's own compaction has no text", async () => {
      const compact = async (): ReturnType<typeof ownSummary> => ({
        ok: true,
        compacted: true,
        result: { tokensBefore: 90, tokensAfter: 40 },
      });
      const opened = await open({ info: { ...INTERCEPTS, ownsCompaction: true }, compact });
      await bench.ask(opened.pagurus, filler(600));
      assert.deepEqual(await asked(opened, { trigger: "manual" }), { summary: INTERCEPTED_SUMMARY });
      assert.deepEqual([opened.calls.compact.length, opened.calls.intercept.length], [1, 1]);
    });

    it("is the harness's own when the engine fails, which status reports", async () => {
      const opened = await open({ info: INTERCEPTS, intercept: () => Promise.reject(new Error("broke")) });
      await bench.ask(opened.pagurus, filler(600));
      assert.equal(await asked(opened, { trigger: "manual" }), undefined);
      const { degraded } = await opened.pagurus.status({ cwd: bench.root });
      assert.deepEqual(
        degraded.map(({ stage }) => stage),
        ["intercept"],
      );
    });

    it("is the harness's own without such a session, without messages, or without an engine that intercepts", async () => {
      const opened = await open({ info: INTERCEPTS });
      assert.equal(await asked(opened, THRESHOLD), undefined);
      await bench.end();
      bench = await Bench.with(() => ({ text: MODEL_SUMMARY }));
      const plain = await open({ info: {} });
      await bench.ask(plain.pagurus, "First?");
      assert.equal(await asked(plain, { trigger: "manual" }), undefined);
      assert.deepEqual([plain.calls.intercept, plain.calls.compact], [[], []]);
    });

    it("is refused for an unknown runtime or model, and while a turn runs", async () => {
      const opened = await open({ info: INTERCEPTS });
      const { native } = opened.pagurus;
      await assert.rejects(native.answerCompaction({ runtime: "none", ...THRESHOLD }), {
        code: "runtime_unknown",
      });
      await bench.ask(opened.pagurus, "First?");
      const request = { runtime: "shell", cwd: bench.root, ...THRESHOLD };
      await assert.rejects(native.answerCompaction({ ...request, model: "nobody/nothing" }), {
        code: "model_unknown",
      });
      act = () => assert.rejects(native.answerCompaction(request), { code: "session_locked" });
      await bench.ask(opened.pagurus, "Second?");
    });
  });
});
