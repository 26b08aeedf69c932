/** A runtime's own conversation, received as messages. */
import { FRAGMENT_ENTRY } from "@pagurus/contract/fragment";
import type { AgentMessage } from "@pagurus/contract/message";
import type { NativeHistory } from "@pagurus/contract/harness/native";
import { Pace } from "@pagurus/core/platform/pace";
import { fragmentNote } from "./codex-rollout-items.ts";
import { isEmptyMessage, type Draft } from "./draft.ts";
import type { ForeignSession, Paced } from "./foreign-source.ts";
import type { Tally } from "./tally.ts";

export function openNativeHistory({ runtime, nativeId, cwd, messages }: NativeHistory): ForeignSession {
  const results = new Set(
    messages.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])),
  );
  return {
    sourceId: nativeId,
    key: `${runtime}:${nativeId}`,
    cwd,
    startedAt: messages.find(({ timestamp }) => timestamp !== undefined)?.timestamp,
    awaits: (callId) => results.has(callId),
    fill: (draft, tally) => fill(messages, results, draft, tally),
  };
}

function* fill(
  messages: readonly AgentMessage[],
  results: Set<string>,
  draft: Draft,
  tally: Tally,
): Paced<void> {
  let pace = new Pace();
  for (const { entryId: _, ...message } of messages) {
    if (pace.due) {
      yield;
      pace = new Pace();
    }
    const at = message.timestamp;
    if (message.role === "toolResult") results.delete(message.toolCallId);
    if (message.role === "user" && message.fragment) {
      const { key, kind } = message.fragment;
      const data = fragmentNote(key, kind, wordsOf(message));
      tally.fragments += 1;
      draft.add({ at, body: { type: "custom", customType: FRAGMENT_ENTRY, data } });
    } else if (!isEmptyMessage(message)) draft.add({ at, body: { type: "message", message } });
  }
  draft.finish();
}

function wordsOf({ content }: Extract<AgentMessage, { role: "user" }>): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
