/** Entries of a transcript as words for a model. */
import type { ImagePart } from "@pagurus/contract/message";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { callsOf, textOf } from "@pagurus/core/compaction/message-text";
import { recordOf, stringOf } from "@pagurus/core/data/record-fields";

export interface EntryWords {
  /** `user`, `assistant`, `result of shell`, `summary`, `note`. */
  role: string;
  text: string;
  images: readonly ImagePart[];
}

/** Undefined for an entry without words, such as the end of a turn. */
export function entryWords(entry: TranscriptEntry): EntryWords | undefined {
  if (entry.type === "compaction") return { role: "summary", text: entry.summary, images: [] };
  if (entry.type === "custom_message") return { role: "note", text: entry.content, images: [] };
  // The whole text of a result that a program with an adapter has in part.
  if (entry.type === "custom" && entry.customType === "pagurus.inside_result")
    return { role: "result", text: stringOf(recordOf(entry.data)["text"]), images: [] };
  if (entry.type !== "message") return undefined;
  const { message } = entry;
  const calls = message.role === "assistant" ? callsOf(message) : [];
  const text = [textOf(message), ...calls.map((call) => `→ ${call.name} ${JSON.stringify(call.arguments)}`)]
    .filter((part) => part !== "")
    .join("\n");
  const role = message.role === "toolResult" ? `result of ${message.toolName}` : message.role;
  const parts = typeof message.content === "string" ? [] : message.content;
  return { role, text, images: parts.filter((part): part is ImagePart => part.type === "image") };
}

/** For example `2026-05-17 09:30`, UTC. */
export function minuteOf(timestamp: string): string {
  return timestamp.slice(0, 16).replace("T", " ");
}
