import type { AgentMessage } from "@pagurus/contract/message";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { count } from "@pagurus/core/data/plain-numbers";
import { recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { messageText } from "@pagurus/host/command/rewind";

/** Readable form of an entry: a title with the speaker, and the text. */
interface EntryText {
  title: string;
  text: string;
}

/** A message with its tool calls and results. */
export function messageForPerson(message: AgentMessage): EntryText {
  if (message.role === "toolResult") {
    return { title: `${message.toolName}${message.isError ? " failed" : ""}`, text: messageText(message) };
  }
  if (message.role === "user") return { title: "You", text: messageText(message) };
  const calls = message.content.flatMap((part) =>
    part.type === "toolCall" ? [`→ ${part.name} ${JSON.stringify(part.arguments)}`] : [],
  );
  const error = message.errorMessage === undefined ? [] : [`(${message.errorMessage})`];
  const texts = [messageText(message), ...calls, ...error].filter((text) => text !== "");
  return { title: "Assistant", text: texts.join("\n") };
}

/** Readable text of an entry; undefined for entries of no use to a person. */
export function entryText(entry: TranscriptEntry): EntryText | undefined {
  switch (entry.type) {
    case "message":
      return messageForPerson(entry.message);
    case "compaction": {
      const after = entry.tokensAfter === undefined ? "" : ` → ${count(entry.tokensAfter)}`;
      return {
        title: `Compaction (${entry.handledBy ?? entry.origin}, ${count(entry.tokensBefore)}${after} tokens)`,
        text: entry.summary,
      };
    }
    case "custom_message":
      return { title: `Context (${entry.customType})`, text: entry.content };
    case "model_change":
      return { title: `Model is now ${entry.provider}/${entry.modelId}`, text: "" };
    case "session_info":
      return entry.name === undefined ? undefined : { title: `Named "${entry.name}"`, text: "" };
    case "rewind":
      return { title: `Rewound to ${entry.targetId ?? "the start"}`, text: "" };
    case "turn_commit":
      if (entry.outcome === "completed") return undefined;
      return {
        title: `Turn ${entry.outcome}${entry.code === undefined ? "" : ` [${entry.code}]`}`,
        text: "",
      };
    case "custom":
      return customText(entry.customType, entry.data);
    default:
      return undefined;
  }
}

function customText(customType: string, data: unknown): EntryText | undefined {
  if (customType === "pagurus.subagent_result") return resultText(data);
  if (customType !== "pagurus.degraded") return undefined;
  const { stage, reason } = recordOf(data);
  return { title: `Degraded (${stringOf(stage)})`, text: stringOf(reason) };
}

/** Refers to the subagent's own session, which has the full result. */
function resultText(data: unknown): { title: string; text: string } {
  const { childSessionKey } = (data ?? {}) as { childSessionKey?: unknown };
  const key = typeof childSessionKey === "string" ? childSessionKey : "a subagent";
  return { title: `Result of ${key}`, text: `pagurus sessions show ${key}` };
}
