/** Plain text of messages and other entries: the form in which they are searched, excerpted and shown. */
import type { AgentMessage } from "@pagurus/contract/message";
import { decodeBreaks } from "../entries/cutting.ts";
import type { StoredEntry } from "../store-types.ts";

/** A tool call in a text. */
export interface CallWords {
  id: string;
  name: string;
  /** Start in the text, in characters. */
  at: number;
  end: number;
}

export interface Words {
  text: string;
  calls: readonly CallWords[];
}

type Part = Exclude<AgentMessage["content"], string>[number];

function partWords(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "thinking":
      return part.thinking === "" ? "" : `[thought: ${part.thinking}]`;
    case "image":
      return `[image ${part.mimeType}]`;
    case "toolCall":
      return `[call ${part.name} ${decodeBreaks(JSON.stringify(part.arguments))}]`;
  }
}

/** Text of a message, with calls as a name and JSON with decoded line breaks, and images by their kind. */
function messageWords(message: AgentMessage): Words {
  if (typeof message.content === "string") return { text: message.content, calls: [] };
  const calls: CallWords[] = [];
  let text = "";
  for (const part of message.content) {
    const words = partWords(part);
    if (words === "") continue;
    if (text !== "") text += "\n";
    if (part.type === "toolCall")
      calls.push({ id: part.id, name: part.name, at: text.length, end: text.length + words.length });
    text += words;
  }
  if (message.role === "assistant" && message.errorMessage !== undefined)
    text += `${text === "" ? "" : "\n"}[error: ${message.errorMessage}]`;
  return { text, calls };
}

/** The same for any entry; empty for one without text. */
export function entryWords({ message, entry }: StoredEntry): Words {
  if (message) return messageWords(message);
  if (entry?.type === "custom_message") return { text: entry.content, calls: [] };
  return { text: entry?.type === "compaction" ? entry.summary : "", calls: [] };
}
