/**
 * Converts our messages to items of Codex's history (Responses API), with their true roles. Source: the design, "Codex", seam
 * `thread`; facts of the app-server, sections 5 and 9.
 */
import type { AgentMessage, ToolCallPart, ToolResultMessage } from "@pagurus/contract/message";

import type { Fragment } from "@pagurus/contract/fragment";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import {
  answerItems,
  type ContentItem,
  contentItems,
  type InputItem,
  type MessageItem,
  messageItem,
} from "@pagurus/core/protocols/responses/responses-items";

/** Codex silently cuts a longer output of an injected tool result; characters, with space for the note. */
const MOST_OUTPUT_CHARS = 45_000;
const HEAD_CHARS = 30_000;
const TAIL_CHARS = 10_000;

export interface Converted {
  items: InputItem[];
  /** Entries of results that were too long and are reduced to head and tail. */
  shortened: string[];
}

function callItem({ id, name, arguments: args }: ToolCallPart): InputItem {
  return { type: "function_call", name: toolName(name), arguments: JSON.stringify(args), call_id: id };
}

/** Head and tail of a long output, with a note about the cut; the model can read the whole by `entryId`. */
function shortenedOutput(text: string, entryId: string | undefined): string {
  const left = text.length - HEAD_CHARS - TAIL_CHARS;
  const back = entryId === undefined ? "" : `; the whole is entry ${entryId}, read it with context_expand`;
  return `${text.slice(0, HEAD_CHARS)}\n[${left} characters left out here${back}]\n${text.slice(-TAIL_CHARS)}`;
}

function outputOf(message: ToolResultMessage): { output: string | ContentItem[]; cut: boolean } {
  const hasImage = message.content.some((part) => part.type === "image");
  const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const cut = text.length > MOST_OUTPUT_CHARS;
  const output = cut ? shortenedOutput(text, message.entryId) : text;
  if (!hasImage) return { output, cut };
  const images = message.content.filter((part) => part.type === "image");
  return { output: contentItems([{ type: "text", text: output }, ...images]), cut };
}

export function toHistoryItems(messages: readonly AgentMessage[]): Converted {
  const short: string[] = [];
  const items = messages.flatMap((message): InputItem[] => {
    if (message.role === "user") return [messageItem("user", message.content)];
    if (message.role === "assistant") return answerItems(message, callItem);
    const { output, cut } = outputOf(message);
    if (cut) short.push(message.entryId ?? message.toolCallId);
    return [{ type: "function_call_output", call_id: message.toolCallId, output }];
  });
  return { items, shortened: short };
}

/** Fragments in the form of items that Codex creates for them. Source: facts of the app-server, section 3. */
export function fragmentItems(fragments: readonly Fragment[]): MessageItem[] {
  return fragments.map(({ role, text }) => messageItem(role, text));
}
