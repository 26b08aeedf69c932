/** Harnesses that are good but for one thing, for each check of the suite. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { AssembledContext, AgentHarness, HarnessTurn } from "../../../src/contract/harness.ts";
import type { AgentMessage, UserMessage } from "../../../src/contract/message.ts";
import type { Usage } from "../../../src/contract/message.ts";
import type { ToolOutcome } from "../../../src/contract/tool.ts";
import { resolveModel } from "../../../src/model/resolve.ts";
import { streamModel } from "../../../src/model/stream.ts";
import type { ModelRequest } from "../../../src/model/types.ts";
import { createEmbeddedHarness } from "../../../src/runtimes/embedded/harness.ts";
import type { HarnessPlace } from "../../../src/testkit/index.ts";

export const MUTANT = "mutant";

type Make = (place: HarnessPlace) => AgentHarness;
type TurnChanges = Partial<HarnessTurn>;

/** Loop of the embedded runtime, with a model of the suite. */
function sound({ endpoint }: HarnessPlace, before?: (request: ModelRequest) => Promise<void>): AgentHarness {
  const models = [{ id: endpoint.modelId, contextWindow: 200_000, maxTokens: 4_000 }];
  const { baseUrl, apiKey } = endpoint;
  const provider = { api: "openai-responses" as const, baseUrl, apiKey, models };
  const config = { models: { providers: { suite: provider } } };
  const harness = createEmbeddedHarness(async function* (model, request) {
    await before?.(request);
    yield* streamModel(resolveModel(model.ref, config, {}), request);
  });
  const { runTurn, seam, execution, contract, capabilities, supports } = harness;
  return { id: MUTANT, label: "Mutant", runTurn, seam, execution, contract, capabilities, supports };
}

/** The turn with some members replaced; what replaces one may call what it replaces. */
function changedTurn(turn: HarnessTurn, changes: TurnChanges): HarnessTurn {
  return new Proxy(turn, {
    get: (target, key) => {
      if (Object.hasOwn(changes, key)) return changes[key as keyof HarnessTurn];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });
}

function told(changes: Partial<AgentHarness>): Make {
  return (place) => ({ ...sound(place), ...changes });
}

/** Each turn of it is changed; the function is called once for a harness, and its answer for each turn. */
function inTurns(change: () => (turn: HarnessTurn) => TurnChanges): Make {
  return (place) => {
    const harness = sound(place);
    const ofTurn = change();
    return { ...harness, runTurn: (turn) => harness.runTurn(changedTurn(turn, ofTurn(turn))) };
  };
}

function assembling(
  change: (context: AssembledContext, turn: HarnessTurn) => Partial<AssembledContext>,
): Make {
  return inTurns(() => (turn) => ({
    assemble: async (request) => {
      const context = await turn.assemble(request);
      return { ...context, ...change(context, turn) };
    },
  }));
}

/** Messages of the mirror that are lost. */
function losing(isLost: (message: AgentMessage) => boolean): Make {
  return inTurns(() => (turn) => ({
    emit: (event) =>
      event.type === "message" && isLost(event.message) ? Promise.resolve() : turn.emit(event),
  }));
}

/** Another outcome of each tool call. */
function calling(change: (outcome: ToolOutcome) => ToolOutcome): Make {
  return inTurns(() => ({ tools }) => ({
    tools: { ...bound(tools), call: async (call, signal) => change(await tools.call(call, signal)) },
  }));
}

function bound(tools: HarnessTurn["tools"]): HarnessTurn["tools"] {
  return {
    specs: tools.specs,
    fingerprint: tools.fingerprint,
    call: (call, signal) => tools.call(call, signal),
    permits: (call, signal) => tools.permits(call, signal),
  };
}

/** Keeps the history by itself and does not look at what the engine assembled. */
function remembering(keyOf: (turn: HarnessTurn) => string, asks = true): Make {
  return inTurns(() => {
    const histories = new Map<string, AgentMessage[]>();
    return (turn) => {
      const history = histories.get(keyOf(turn)) ?? [];
      histories.set(keyOf(turn), history);
      history.push(turn.input);
      return {
        assemble: async (request) => {
          const plain: AssembledContext = { ...NOTHING, system: turn.instructions, messages: history };
          return asks ? { ...(await turn.assemble(request)), messages: history } : plain;
        },
        emit: async (event) => {
          if (event.type === "message") history.push(event.message);
          await turn.emit(event);
        },
      };
    };
  });
}

/** What comes of a turn is changed. */
function ending(change: (turn: HarnessTurn, run: () => Promise<Ended>) => Promise<Ended>): Make {
  return (place) => {
    const harness = sound(place);
    return { ...harness, runTurn: (turn) => change(turn, () => harness.runTurn(turn)) };
  };
}

type Ended = Awaited<ReturnType<AgentHarness["runTurn"]>>;

const NO_USAGE: Usage = { input: 0, output: 0, totalTokens: 0 };
const NOTHING = { messages: [], historyCount: 0, estimatedTokens: 100 };
/** Longer than an abort may take in the runs of these harnesses, ms. */
const LATE_MS = 1_200;

function late(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  signal.addEventListener("abort", () => setTimeout(() => controller.abort(), LATE_MS), { once: true });
  return controller.signal;
}

function asUser(message: AgentMessage): UserMessage {
  return { role: "user", content: JSON.stringify(message.content) };
}

const lateAbort = inTurns(() => ({ signal }) => ({ signal: late(signal) }));
const ownHistory = remembering(({ sessionId }) => sessionId);
const noFinalAnswer = losing(
  (message) => message.role === "assistant" && message.content.every(({ type }) => type === "text"),
);
const noReceipts = inTurns(() => () => ({ receipt: () => undefined }));

/** By the id of the check that has to fail. */
export const MUTANTS: Record<string, Make> = {
  "info.identity": told({ label: " " }),
  "info.capabilities": told({ capabilities: ["telepathy" as "compact"] }),
  "info.supports": told({ supports: () => ({ supported: false, reason: "It is Sunday." }) }),

  "turn.answer": inTurns(() => (turn) => ({
    emit: async (event) => {
      await turn.emit(event);
      if (event.type === "text.delta") await turn.emit(event);
    },
  })),
  "turn.input-once": (place) =>
    sound(place, async () => {
      await fetch(`${place.endpoint.baseUrl}/responses`, { method: "POST", body: '{"input": []}' });
    }),
  // The history is sent twice.
  "turn.history": assembling(({ messages, historyCount }) => ({
    messages: [...messages.slice(0, historyCount), ...messages],
  })),
  "turn.other-runtime": ownHistory,
  "turn.sessions-apart": remembering(() => "all"),
  "turn.prompt-hook": assembling((_context, { instructions }) => ({ system: instructions })),
  "turn.additional-context": assembling(({ messages }) => ({
    messages: messages.flatMap((message) =>
      message.role === "user" && message.fragment ? [message, message] : [message],
    ),
  })),

  "engine.bootstrap": ownHistory,
  "engine.assemble-first": remembering(({ sessionId }) => sessionId, false),
  "engine.llm": remembering(({ sessionId }) => sessionId, false),
  "engine.assemble-fails": assembling(({ messages, degraded }) =>
    degraded === undefined ? {} : { messages: [...messages, ...messages] },
  ),
  "engine.assembled": ownHistory,
  // The addition is dropped.
  "engine.addition": assembling((_context, { instructions }) => ({ system: instructions })),
  "engine.addition-new": inTurns(() => {
    let first: string | undefined;
    return (turn) => ({
      assemble: async (request) => {
        const context = await turn.assemble(request);
        first ??= context.system;
        return { ...context, system: first };
      },
    });
  }),

  "epoch.begins": assembling(({ messages }) => ({ messages: messages.map(asUser) })),
  "epoch.grows": assembling(({ system, messages }) => ({ system: `${messages.length}\n${system}` })),
  "epoch.ends": inTurns(() => {
    const heads: AgentMessage[] = [];
    return (turn) => ({
      assemble: async (request) => {
        const context = await turn.assemble(request);
        const messages = [...heads, ...context.messages];
        heads.push(...context.messages.slice(0, 1));
        return { ...context, messages };
      },
    });
  }),

  "tools.offered": inTurns(() => ({ tools }) => ({ tools: { ...bound(tools), specs: [] } })),
  "tools.round-trip": inTurns(() => ({ tools }) => ({
    tools: { ...bound(tools), call: (call, signal) => tools.call({ ...call, arguments: {} }, signal) },
  })),
  "tools.parallel": losing((message) => message.role === "toolResult" && message.toolCallId === "call_two"),
  "tools.error": calling((outcome) => ({ ...outcome, isError: false })),
  "tools.unknown": calling((outcome) => {
    if (outcome.isError) throw new Error("There is no such tool.");
    return outcome;
  }),
  "tools.blocked": calling(() => ({ content: [{ type: "text", text: "All is well." }], isError: false })),
  "tools.max-steps": inTurns(() => () => ({ maxSteps: 1_000 })),
  "tools.abort": inTurns(() => ({ tools, signal }) => ({
    signal: late(signal),
    tools: { ...bound(tools), call: (call) => tools.call(call, late(signal)) },
  })),

  // A tool's result is lost from the mirror.
  "record.transcript": losing(({ role }) => role === "toolResult"),
  "record.events": inTurns(() => (turn) => {
    const held: AgentMessage[] = [];
    return {
      emit: async (event) => {
        const message = event.type === "message" ? event.message : undefined;
        if (message?.role === "assistant" && message.content.some(({ type }) => type === "toolCall")) {
          held.push(message);
          return;
        }
        await turn.emit(event);
        if (message) for (const late of held.splice(0)) await turn.emit({ type: "message", message: late });
      },
    };
  }),
  "record.after-turn": noFinalAnswer,
  "record.commit": noFinalAnswer,

  "maintain.after-success": ending(async (_turn, run) => ({ ...(await run()), stopReason: "yielded" })),
  // A failure is passed off as a success, which maintenance then follows.
  "maintain.not-after-failure": ending((_turn, run) =>
    run().catch((): Ended => ({ stopReason: "stop", usage: NO_USAGE })),
  ),

  // The abort is not heard, until much later.
  "abort.in-time": lateAbort,
  "abort.partial-text": losing((message) => message.role === "assistant" && message.stopReason === "aborted"),
  "abort.settles": lateAbort,
  "steer.joins": assembling(({ messages, historyCount }) => ({
    messages: messages.filter((message, index) => index <= historyCount || message.role !== "user"),
  })),

  "compact.queued": ownHistory,
  "compact.overflow": inTurns(() => (turn) => ({ assemble: () => turn.assemble() })),
  "thread.restart": ownHistory,
  "thread.kept": ending((turn, run) => {
    turn.bind({ nativeId: randomUUID(), state: {} });
    return run();
  }),
  "thread.forgotten": remembering(({ sessionKey }) => sessionKey),

  "receipt.request": noReceipts,
  "receipt.each-request": inTurns(() => (turn) => {
    let count = 0;
    return {
      receipt: (request) => (request.usage || (count += 1) === 1 ? turn.receipt(request) : undefined),
    };
  }),
  "receipt.names": noReceipts,
  "usage.reported": inTurns(() => (turn) => ({
    receipt: ({ usage: _usage, ...request }) => turn.receipt(request),
    emit: (event) => (event.type === "usage" ? Promise.resolve() : turn.emit(event)),
  })),
  "usage.not-invented": ending(async (turn, run) => {
    const ended = await run();
    const usage = ended.usage.totalTokens > 0 ? ended.usage : { input: 1, output: 1, totalTokens: 2 };
    turn.receipt({ usage });
    return { ...ended, usage };
  }),

  "end.idle": () => {
    throw new Error("This harness cannot be made.");
  },
  "end.after-turn": ending(async (turn, run) => {
    spawn("sleep", ["3"], { cwd: turn.cwd, stdio: "ignore", detached: true }).unref();
    return run();
  }),
  "end.during-turn": lateAbort,
};
