/** A kept conversation in no program's form, from which a native session of any of them is written. */
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolResultMessage,
} from "@pagurus/contract/message";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";
import { hash } from "node:crypto";

/** In place of all items before it, which a program no longer sends. */
interface SummaryItem {
  role: "summary";
  text: string;
  timestamp?: number;
}

export type PortableItem = AgentMessage | SummaryItem;

export interface Portable {
  /** The program that it is of. */
  agent?: string;
  cwd: string;
  title?: string;
  items: PortableItem[];
}

/** A session in a program's form. */
export interface NativeSession {
  id: string;
  /** Where the program has it, in its home; absent where the program takes it with a command of its own. */
  place?: string;
  /** A name for the file elsewhere. */
  name: string;
  content: string;
  /** Thoughts that were left out: their signatures are valid for their own model only. */
  thoughts: number;
}

/** What a writer needs beside the conversation. */
export interface NativeIds {
  id: string;
  /** Of the writing, milliseconds since the epoch. */
  now: number;
}

/** The path of the last entry as items; a summary comes before the first entry that its program kept verbatim. */
export function itemsOf(entries: readonly TranscriptEntry[]): { items: PortableItem[]; title?: string } {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: TranscriptEntry[] = [];
  for (let at = entries.at(-1); at; at = at.parentId === null ? undefined : byId.get(at.parentId)) {
    path.push(at);
  }
  path.reverse();
  const items: { id: string; item: PortableItem }[] = [];
  let title: string | undefined;
  for (const entry of path) {
    if (entry.type === "message") items.push({ id: entry.id, item: entry.message });
    else if (entry.type === "custom_message")
      items.push({ id: entry.id, item: { role: "user", content: entry.content } });
    else if (entry.type === "session_info") title = entry.name ?? title;
    else if (entry.type === "compaction") {
      const kept = items.findIndex(({ id }) => id === entry.firstKeptEntryId);
      const timestamp = Date.parse(entry.timestamp);
      const summary = { id: entry.id, item: { role: "summary", text: entry.summary, timestamp } as const };
      items.splice(kept < 0 ? items.length : kept, 0, summary);
    }
  }
  return { items: items.map(({ item }) => item), ...(title !== undefined && { title }) };
}

/** Without summaries: every message, also those that a program no longer sends. */
export function wholeOf(items: readonly PortableItem[]): PortableItem[] {
  return items.filter(({ role }) => role !== "summary");
}

/** What an answer says and calls, without its thoughts and empty texts. */
export function answerParts({ content }: AssistantMessage): (TextPart | ToolCallPart)[] {
  return content.filter(
    (part) => part.type === "toolCall" || (part.type === "text" && part.text.trim() !== ""),
  ) as (TextPart | ToolCallPart)[];
}

export function thoughtsOf(items: readonly PortableItem[]): number {
  return items
    .filter((item) => item.role === "assistant")
    .reduce((sum, { content }) => sum + content.filter(({ type }) => type === "thinking").length, 0);
}

/** Texts and images of a message of the user; none is empty. */
export function inputParts(content: string | readonly (TextPart | ImagePart)[]): (TextPart | ImagePart)[] {
  const parts: readonly (TextPart | ImagePart)[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  return parts.filter((part) => part.type === "image" || part.text.trim() !== "");
}

export function resultText({ content }: ToolResultMessage): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

export function resultImages({ content }: ToolResultMessage): ImagePart[] {
  return content.filter((part) => part.type === "image");
}

export function dataUrl({ mimeType, data }: ImagePart): string {
  return `data:${mimeType};base64,${data}`;
}

/** The id of a call in characters that every provider takes. */
export function callId(id: string): string {
  return /^[\w-]{1,64}$/.test(id) ? id : `call_${hash("sha1", id, "hex").slice(0, 24)}`;
}

/** Times that never go back: an item without a time has that of the one before. */
export class Times {
  #last: number;

  constructor(now: number, items: readonly PortableItem[]) {
    const first = items.find(({ timestamp }) => timestamp !== undefined)?.timestamp ?? now;
    this.#last = Math.min(first, now);
  }

  next({ timestamp }: PortableItem): number {
    this.#last = Math.max(this.#last, timestamp ?? 0);
    return this.#last;
  }
}
