/** Harnesses with one defect, for each check of the suite. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { AssembledContext, HarnessTurn } from "../../../packages/contract/src/harness/harness.ts";
import type { AgentMessage, Usage, UserMessage } from "../../../packages/contract/src/message.ts";
import { EMBEDDED_SURFACES } from "../../../packages/host/src/runtimes/embedded/embedded-harness.ts";
import {
  assembling,
  bound,
  calling,
  ending,
  inTurns,
  late,
  losing,
  sound,
  declaring,
  type Ended,
  type Make,
} from "./making.ts";

/** Keeps the history by itself and ignores what the engine assembled. */
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
          return asks ? { ...(await turn.context.assemble(request)), messages: history } : plain;
        },
        emit: async (event) => {
          if (event.type === "message") history.push(event.message);
          await turn.io.emit(event);
        },
      };
    };
  });
}

const NO_USAGE: Usage = { input: 0, output: 0, totalTokens: 0 };
const NOTHING = { messages: [], historyCount: 0, estimatedTokens: 100 };
function asUser(message: AgentMessage): UserMessage {
  return { role: "user", content: JSON.stringify(message.content) };
}

const lateAbort = inTurns(() => ({ signal }) => ({ signal: late(signal) }));
const ownHistory = remembering(({ sessionId }) => sessionId);
const noFinalAnswer = losing(
  (message) => message.role === "assistant" && message.content.every(({ type }) => type === "text"),
);
const noReceipts = inTurns(() => () => ({ receipt: () => undefined }));

export function withoutImages(message: AgentMessage): AgentMessage {
  if (message.role !== "user" || typeof message.content === "string") return message;
  return { ...message, content: message.content.filter(({ type }) => type !== "image") };
}

/** By the id of the check that has to fail. */
export const MUTANTS: Record<string, Make> = {
  "info.identity": declaring({ label: " " }),
  "info.capabilities": declaring({ capabilities: ["telepathy" as "compact"] }),
  "info.supports": declaring({ supports: () => ({ supported: false, reason: "It is Sunday." }) }),

  "turn.answer": inTurns(() => (turn) => ({
    emit: async (event) => {
      await turn.io.emit(event);
      if (event.type === "text.delta") await turn.io.emit(event);
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

  "turn.image": assembling(({ messages }) => ({ messages: messages.map(withoutImages) })),
  "turn.same-bytes": assembling(({ system }, { sessionId }) => ({
    system: `${system}\nThread ${sessionId}`,
  })),

  "engine.bootstrap": ownHistory,
  "engine.assemble-first": remembering(({ sessionId }) => sessionId, false),
  "engine.llm": remembering(({ sessionId }) => sessionId, false),
  "engine.assemble-fails": assembling(({ messages, degraded }) =>
    degraded === undefined ? {} : { messages: [...messages, ...messages] },
  ),
  "engine.assembled": ownHistory,
  "engine.untouched": assembling(({ messages }) => {
    for (const message of messages) if (message.role === "user") message.timestamp = 0;
    return {};
  }),
  // The addition is dropped.
  "engine.addition": assembling((_context, { instructions }) => ({ system: instructions })),
  "engine.addition-new": inTurns(() => {
    let first: string | undefined;
    return (turn) => ({
      assemble: async (request) => {
        const context = await turn.context.assemble(request);
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
        const context = await turn.context.assemble(request);
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
  // The permission of the first turn applies to all.
  "tools.permission": inTurns(() => {
    let first: HarnessTurn["tools"] | undefined;
    return ({ tools }) => ({ tools: (first ??= bound(tools)) });
  }),
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
        await turn.io.emit(event);
        if (message)
          for (const late of held.splice(0)) await turn.io.emit({ type: "message", message: late });
      },
    };
  }),
  "record.after-turn": noFinalAnswer,
  "record.commit": noFinalAnswer,

  "maintain.after-success": ending(async (_turn, run) => ({ ...(await run()), stopReason: "yielded" })),
  // A failure is reported as a success, which maintenance then follows.
  "maintain.not-after-failure": ending((_turn, run) =>
    run().catch((): Ended => ({ stopReason: "stop", usage: NO_USAGE })),
  ),

  // The abort takes effect much later.
  "abort.in-time": lateAbort,
  "abort.partial-text": losing((message) => message.role === "assistant" && message.stopReason === "aborted"),
  "abort.silent": ending(async (turn, run) => {
    const ended = await run();
    const content = [{ type: "text" as const, text: "By the way:" }];
    if (ended.stopReason === "aborted")
      await turn.io.emit({ type: "message", message: { role: "assistant", content } });
    return ended;
  }),
  "abort.settles": lateAbort,
  "steer.joins": assembling(({ messages, historyCount }) => ({
    messages: messages.filter((message, index) => index <= historyCount || message.role !== "user"),
  })),

  "compact.queued": ownHistory,
  "compact.overflow": inTurns(() => (turn) => ({ assemble: () => turn.context.assemble() })),
  "thread.restart": ownHistory,
  "thread.kept": ending((turn, run) => {
    turn.thread.bind({ nativeId: randomUUID(), state: {} });
    return run();
  }),
  "thread.forgotten": remembering(({ sessionKey }) => sessionKey),

  "receipt.request": noReceipts,
  "receipt.each-request": inTurns(() => (turn) => {
    let count = 0;
    return {
      receipt: (request) => (request.usage || (count += 1) === 1 ? turn.context.receipt(request) : undefined),
    };
  }),
  "receipt.names": noReceipts,
  "usage.reported": inTurns(() => (turn) => ({
    receipt: ({ usage: _usage, ...request }) => turn.context.receipt(request),
    emit: (event) => (event.type === "usage" ? Promise.resolve() : turn.io.emit(event)),
  })),
  "usage.not-invented": ending(async (turn, run) => {
    const ended = await run();
    const usage = ended.usage.totalTokens > 0 ? ended.usage : { input: 1, output: 1, totalTokens: 2 };
    turn.context.receipt({ usage });
    return { ...ended, usage };
  }),

  "declared.seam": declaring({ seam: "projection" }),
  "declared.capabilities": declaring({
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain"],
  }),
  "declared.surfaces": declaring({
    surfaces: { ...EMBEDDED_SURFACES, hostToolHooks: "No: its tools are its own matter." },
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
