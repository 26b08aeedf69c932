import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import type { AssembledContext, HarnessTurn } from "../../../packages/contract/src/harness/harness.ts";
import type { AssistantMessage, UserMessage } from "../../../packages/contract/src/message.ts";
import type { ModelInfo } from "../../../packages/contract/src/model.ts";
import type { ToolOutcome } from "../../../packages/contract/src/harness/tool.ts";
import type { ModelPart } from "../../../packages/core/src/model/provider-types.ts";
import { createEmbeddedHarness } from "../../../packages/host/src/runtimes/embedded/embedded-harness.ts";

const MODEL: ModelInfo = {
  ref: "test/model",
  provider: "test",
  id: "model",
  api: "openai-completions",
  contextWindow: 32_000,
  maxTokens: 4_000,
  reasoning: false,
  input: ["text"],
  promptCache: "none",
  truncatesSilently: false,
};

type Script = (call: number, signal: AbortSignal) => AsyncIterable<ModelPart>;

interface Play {
  events: TurnEvent[];
  overflows: number;
  turn: HarnessTurn;
  controller: AbortController;
}

/** A turn without a host, which records the loop's requests and events. */
function turnOf(
  options: {
    maxSteps?: number;
    inputs?: string[][];
    call?: (signal: AbortSignal) => Promise<ToolOutcome>;
    history?: AgentMessage[];
  } = {},
): Play {
  const events: TurnEvent[] = [];
  const controller = new AbortController();
  const inputs = [...(options.inputs ?? [])];
  const play: Play = { events, overflows: 0, controller, turn: undefined as unknown as HarnessTurn };
  const input: HarnessTurn["input"] = { role: "user", content: [{ type: "text", text: "Go" }] };
  const { history = [] } = options;
  const context: AssembledContext = {
    system: "",
    messages: [...history, input],
    historyCount: history.length,
    estimatedTokens: 1,
  };
  play.turn = {
    sessionKey: "main",
    sessionId: "s",
    hostAgentId: "main",
    turnId: "t",
    cwd: "/",
    model: MODEL,
    input,
    instructions: "",
    tokenBudget: 1_000,
    maxSteps: options.maxSteps ?? 10,
    tools: {
      specs: [],
      fingerprint: "",
      call: (_call, signal) =>
        options.call?.(signal) ??
        Promise.resolve({ content: [{ type: "text", text: "ok" }], isError: false }),
      permits: () => Promise.resolve(undefined),
    },
    permissionMode: "auto",
    engine: { id: "legacy", governs: false, ownsCompaction: false },
    signal: controller.signal,
    context: {
      assemble: (request) => {
        if (request?.overflow) play.overflows += 1;
        if (play.overflows > 1) return Promise.reject(new PagurusError("context_overflow", "Twice."));
        return Promise.resolve(context);
      },
      fallback: (failure) => Promise.reject(failure),
      receipt: () => undefined,
      answerCompaction: () => Promise.resolve(undefined),
      fragments: [],
      additionalContext: null,
      fragmentsLost: () => [],
      messages: () => [],
      newestEntryId: () => undefined,
    },
    thread: { binding: () => undefined, bind: () => undefined },
    io: {
      takeInputs: () =>
        Promise.resolve((inputs.shift() ?? []).map((text): UserMessage => ({ role: "user", content: text }))),
      inputArrives: () => Promise.resolve(),
      emit: (event) => {
        events.push(event);
        return Promise.resolve();
      },
      degrade: () => undefined,
    },
  };
  return play;
}

function says(...content: AssistantMessage["content"]): ModelPart {
  return { type: "finish", message: { role: "assistant", content, stopReason: "stop" } };
}
const calls = (id: string): ModelPart => says({ type: "toolCall", id, name: "look", arguments: {} });

async function runWith(play: Play, script: Script): Promise<{ stopReason: string; calls: number }> {
  let made = 0;
  const harness = createEmbeddedHarness((_model, request) => script(made++, request.signal));
  const { stopReason } = await harness.start(play.turn).run();
  return { stopReason, calls: made };
}

describe("the embedded loop", () => {
  it("stops when it is out of steps, with every call answered", async () => {
    const play = turnOf({ maxSteps: 3 });
    const outcome = await runWith(play, async function* (call) {
      yield calls(`c${call}`);
    });
    assert.deepEqual(outcome, { stopReason: "max_steps", calls: 3 });
    const messages = play.events.flatMap((event) => (event.type === "message" ? [event.message.role] : []));
    assert.deepEqual(messages, [
      "assistant",
      "toolResult",
      "assistant",
      "toolResult",
      "assistant",
      "toolResult",
    ]);
  });

  it("lets the tools prepare when a call arrives, and in a conversation that has used tools when a request is sent", async () => {
    const result = { toolCallId: "1", toolName: "read", content: [], isError: false };
    const histories: [AgentMessage[], string[]][] = [
      [[{ role: "user", content: "Earlier" }], ["call"]],
      [[{ role: "toolResult", ...result }], ["sent", "call"]],
    ];
    for (const [history, stages] of histories) assert.deepEqual(await preparedIn(history), stages);
  });

  async function preparedIn(history: AgentMessage[]): Promise<string[]> {
    const { turn } = turnOf({ history });
    const prepared: string[] = [];
    let stage = "";
    turn.tools.expect = () => prepared.push(stage);
    const harness = createEmbeddedHarness(async function* (_model, { onSent, onCall }) {
      stage = "sent";
      onSent?.();
      stage = "call";
      onCall?.();
      yield says({ type: "text", text: "Done." });
    });
    await harness.start(turn).run();
    return prepared;
  }

  it("continues when input arrives with the model's last text", async () => {
    const play = turnOf({ inputs: [[], ["And then?"]] });
    const outcome = await runWith(play, async function* () {
      yield says({ type: "text", text: "Done." });
    });
    assert.deepEqual(outcome, { stopReason: "stop", calls: 2 });
  });

  it("requests a compaction after an overflow, and gives up after the second in a row", async () => {
    const once = turnOf();
    const recovered = await runWith(once, async function* (call) {
      if (call === 0) throw new PagurusError("context_overflow", "Too long.");
      yield says({ type: "text", text: "Done." });
    });
    assert.equal(recovered.stopReason, "stop");
    assert.equal(once.overflows, 1);
    const twice = turnOf();
    await assert.rejects(
      runWith(twice, async function* () {
        yield* [];
        throw new PagurusError("context_overflow", "Too long.");
      }),
      (error: unknown) => error instanceof PagurusError && error.code === "context_overflow",
    );
  });

  it("keeps the text that had arrived when the turn is aborted", async () => {
    const play = turnOf();
    const outcome = await runWith(play, async function* (_call, signal) {
      yield { type: "text", delta: "It begins" };
      play.controller.abort();
      yield* [];
      throw new PagurusError("turn_aborted", String(signal.aborted));
    });
    assert.equal(outcome.stopReason, "aborted");
    const kept = play.events.findLast((event) => event.type === "message");
    assert.ok(kept?.type === "message" && kept.message.role === "assistant");
    assert.deepEqual(kept.message.content, [{ type: "text", text: "It begins" }]);
  });

  it("closes a call that ignores the abort, after a grace period, with a result that says so", async () => {
    const play = turnOf({
      call: () => {
        setImmediate(() => play.controller.abort());
        return new Promise(() => undefined);
      },
    });
    const outcome = runWith(play, async function* () {
      yield calls("c0");
    });
    assert.equal((await outcome).stopReason, "aborted");
    const result = play.events.findLast((event) => event.type === "message");
    assert.ok(result?.type === "message" && result.message.role === "toolResult" && result.message.isError);
  });

  it("starts over after a retry, so that no text is repeated", async () => {
    const play = turnOf();
    await runWith(play, async function* () {
      yield { type: "text", delta: "Half an ans" };
      yield { type: "retry", attempt: 1, delayMs: 0, reason: "cut" };
      yield { type: "text", delta: "A whole answer." };
      yield says({ type: "text", text: "A whole answer." });
    });
    assert.equal(play.events.filter((event) => event.type === "message").length, 1);
    assert.ok(play.events.some((event) => event.type === "model.retry"));
  });
});
