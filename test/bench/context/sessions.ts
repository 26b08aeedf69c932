/** Small sessions for the tests of the context bench. */
import type { AgentMessage, AssistantMessage } from "../../../packages/contract/src/message.ts";
import {
  entryId,
  type ModelCall,
  type RecordedSession,
} from "../../../packages/replay/src/recorded-session.ts";
import { generateTranscript } from "../../../bench/generate.ts";

export function user(text: string): AgentMessage {
  return { role: "user", content: text };
}

export function says(text: string): AssistantMessage {
  return { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" };
}

/** A call of a tool with its result. */
export function round(id: string, args: Record<string, unknown>, result: string): AgentMessage[] {
  return [
    {
      role: "assistant",
      content: [{ type: "toolCall", id, name: "read", arguments: args }],
      stopReason: "toolUse",
    },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: "read",
      content: [{ type: "text", text: result }],
      isError: false,
    },
  ];
}

/** Messages as a session: each assistant message is the output of a call, each user message opens a turn. */
export function sessionOf(messages: readonly AgentMessage[], factor = 1): RecordedSession {
  const calls: ModelCall[] = [];
  let liveStart = 0;
  let turns = 0;
  for (const [index, message] of messages.entries()) {
    if (message.role === "user") {
      liveStart = index;
      turns++;
    }
    if (message.role === "assistant") {
      calls.push({ index: calls.length, turnId: `t${turns}`, end: index, liveStart, at: index * 1_000 });
    }
  }
  return {
    name: "test",
    messages: messages.map((message, index) => ({ ...message, entryId: entryId(index) })),
    calls,
    factor,
  };
}

/** A generated session in which user's inputs are rare, so that live turns are long. */
export function longSession(seed: number, messages: number, oneTurn = false): RecordedSession {
  const generated = generateTranscript({ seed, messages });
  return sessionOf(generated.filter((message, index) => !oneTurn || index === 0 || message.role !== "user"));
}
