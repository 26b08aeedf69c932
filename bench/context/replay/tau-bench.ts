/** Customer-service dialogues with tool calls (tau-bench, airline): short sessions with many user messages. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentMessage, AssistantMessage, ToolCallPart } from "../../../packages/contract/src/message.ts";
import {
  entryId,
  type ModelCall,
  type RecordedSession,
} from "../../../packages/replay/src/recorded-session.ts";

const SHARED = join(import.meta.dirname, "..", "..", "..", "..", "shared");
const FILE = join(SHARED, "data", "tau-bench", "gpt-4o-airline.json");

interface Recorded {
  role: "system" | "user" | "assistant" | "tool";
  content: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[] | null;
  name?: string;
}

export interface Dialogue {
  task_id: number;
  trial: number;
  traj: readonly Recorded[];
}

/** Only the first call of an answer was made; `id` replaces its own, which repeats over dialogues. */
function answerOf(turn: Recorded, id: string): AssistantMessage {
  const content: AssistantMessage["content"] = turn.content ? [{ type: "text", text: turn.content }] : [];
  const call = turn.tool_calls?.[0];
  if (call) {
    const args = JSON.parse(call.function.arguments) as Record<string, unknown>;
    content.push({ type: "toolCall", id, name: call.function.name, arguments: args });
  }
  return { role: "assistant", content, stopReason: call ? "toolUse" : "stop" };
}

/** Dialogues in sequence as the history of one agent. The system prompt is not part of a history. */
export function readDialogues(name: string, dialogues: readonly Dialogue[]): RecordedSession {
  const messages: AgentMessage[] = [];
  const calls: ModelCall[] = [];
  let turns = 0;
  let liveStart = 0;
  const push = (message: AgentMessage): void => {
    messages.push({ ...message, entryId: entryId(messages.length) });
  };
  let open: ToolCallPart | undefined;
  const answer = (text: string): void => {
    if (!open) return;
    const { id: toolCallId, name: toolName } = open;
    open = undefined;
    push({ role: "toolResult", toolCallId, toolName, content: [{ type: "text", text }], isError: false });
  };
  for (const { traj } of dialogues) {
    // A dialogue may end with a call whose result is missing.
    answer("");
    for (const turn of traj) {
      if (turn.role === "user") {
        answer("");
        turns++;
        liveStart = messages.length;
        push({ role: "user", content: turn.content ?? "" });
      } else if (turn.role === "assistant") {
        const made = answerOf(turn, `call_${messages.length}`);
        if (made.content.length === 0) continue;
        answer("");
        calls.push({ index: calls.length, turnId: `t${turns}`, end: messages.length, liveStart, at: 0 });
        push(made);
        open = made.content.find((part) => part.type === "toolCall");
      } else if (turn.role === "tool") answer(turn.content ?? "");
    }
  }
  return { name, messages, calls, factor: 1 };
}

/** The recorded dialogues next to the checkout; undefined where there are none. */
export function recordedDialogues(): Dialogue[] | undefined {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as Dialogue[]) : undefined;
}
