import type { AgentMessage, AssistantMessage, ToolResultMessage } from "@pagurus/contract/message";
import type { TranscriptCursor, TranscriptEntry } from "@pagurus/contract/session/transcript";
import type { Client } from "./acp-client.ts";
import { type CallIds, oneLine, shownCall, shownResult } from "./tool-call-updates.ts";

const LONGEST_TITLE = 80;

interface ReplayPlace {
  client: Client;
  sessionId: string;
  cwd: string;
  /** Id of the running turn, whose calls have not ended yet. */
  running?: string | undefined;
  callIds: CallIds;
}

/** Calls without a result so far: their id in the editor, and whether a diff replaces the result. */
type OpenCalls = Map<string, { shownId: string; hasDiff: boolean }>;

/** Sends the conversation, oldest first, each message once; includes what a compaction has summarized. */
export async function replay(cursor: TranscriptCursor, place: ReplayPlace): Promise<void> {
  const open: OpenCalls = new Map();
  const live: OpenCalls = new Map();
  for await (const entry of cursor.forward()) {
    if (entry.type === "compaction") await replayCompaction(entry, place);
    if (entry.type !== "message") continue;
    if (entry.turnId === undefined || entry.turnId !== place.running)
      await replayMessage(entry.id, entry.message, place, open);
    else await replayMessage(entry.id, entry.message, place, live);
  }
  // An interrupted turn leaves calls without a result.
  for (const { shownId: toolCallId } of open.values()) {
    await place.client.update(place.sessionId, {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "failed",
    });
  }
}

async function replayMessage(
  messageId: string,
  message: AgentMessage,
  place: ReplayPlace,
  open: OpenCalls,
): Promise<void> {
  if (message.role === "toolResult") return replayResult(message, place, open);
  if (message.role === "assistant") return replayAssistant(messageId, message, place, open);
  const { content } = message;
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  for (const part of parts) {
    await place.client.update(place.sessionId, {
      sessionUpdate: "user_message_chunk",
      content: part,
      messageId,
    });
  }
}

async function replayAssistant(
  messageId: string,
  message: AssistantMessage,
  { client, sessionId, cwd, callIds }: ReplayPlace,
  open: OpenCalls,
): Promise<void> {
  for (const part of message.content) {
    if (part.type === "toolCall") {
      const shown = shownCall(part.name, part.arguments, cwd);
      const shownId = callIds.next(part.id);
      open.set(part.id, { shownId, hasDiff: (shown.content ?? []).length > 0 });
      const call = { toolCallId: shownId, status: "in_progress" as const, ...shown };
      await client.update(sessionId, { sessionUpdate: "tool_call", ...call });
      continue;
    }
    const text = part.type === "text" ? part.text : part.thinking;
    if (text === "") continue;
    const sessionUpdate = part.type === "text" ? "agent_message_chunk" : "agent_thought_chunk";
    await client.update(sessionId, { sessionUpdate, content: { type: "text", text }, messageId });
  }
}

async function replayResult(
  { toolCallId, content, isError }: ToolResultMessage,
  { client, sessionId }: ReplayPlace,
  open: OpenCalls,
): Promise<void> {
  const call = open.get(toolCallId);
  const keeps = call?.hasDiff === true && !isError;
  open.delete(toolCallId);
  await client.update(sessionId, {
    sessionUpdate: "tool_call_update",
    toolCallId: call?.shownId ?? toolCallId,
    status: isError ? "failed" : "completed",
    ...(keeps ? {} : { content: shownResult(content) }),
  });
}

async function replayCompaction(
  entry: Extract<TranscriptEntry, { type: "compaction" }>,
  { client, sessionId }: ReplayPlace,
): Promise<void> {
  if (!client.compactions) return;
  await client.update(sessionId, {
    sessionUpdate: "compaction_update",
    compactionId: entry.id,
    status: "completed",
    summary: [{ type: "text", text: entry.summary }],
  });
}

/** The newest summary on the path. */
export async function newestSummary(cursor: TranscriptCursor): Promise<string | undefined> {
  for await (const entry of cursor.backward()) if (entry.type === "compaction") return entry.summary;
  return undefined;
}

/** Text of the user's first message; undefined while the conversation is empty. */
export async function firstWords(cursor: TranscriptCursor): Promise<string | undefined> {
  for await (const entry of cursor.forward()) {
    if (entry.type !== "message" || entry.message.role !== "user") continue;
    const { content } = entry.message;
    const text =
      typeof content === "string"
        ? content
        : content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
    return titleFrom(text);
  }
  return undefined;
}

export function titleFrom(text: string): string {
  return oneLine(text, LONGEST_TITLE);
}
