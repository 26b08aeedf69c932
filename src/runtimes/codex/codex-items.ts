/**
 * Converts our messages to items of Codex's history (Responses API), with their true roles. Source: the design, "Codex", seam
 * `thread`; facts of the app-server, sections 5 and 9.
 */
import type {
  AgentMessage,
  AssistantMessage,
  ImagePart,
  TextPart,
  ToolResultMessage,
} from "../../contract/message.ts";

import type { Fragment } from "../../contract/fragment.ts";
import { imageDataUrl, toolName } from "../../protocols/protocol-parts.ts";
import type { JsonValue } from "./protocol.ts";

/** Codex silently cuts a longer output of an injected tool result; characters, with space for the note. */
const MOST_OUTPUT_CHARS = 45_000;
const HEAD_CHARS = 30_000;
const TAIL_CHARS = 10_000;

type Content =
  | { type: "input_text"; text: string }
  | { type: "output_text"; text: string }
  | { type: "input_image"; image_url: string };

export type HistoryItem =
  | { type: "message"; role: "user" | "assistant" | "developer"; content: Content[] }
  | { type: "function_call"; name: string; arguments: string; call_id: string }
  | { type: "function_call_output"; call_id: string; output: string | Content[] };

export interface Converted {
  items: HistoryItem[];
  /** Entries of results that were too long and are reduced to head and tail. */
  shortened: string[];
}

function inputContent(content: string | readonly (TextPart | ImagePart)[]): Content[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.map((part) =>
    part.type === "text"
      ? { type: "input_text", text: part.text }
      : { type: "input_image", image_url: imageDataUrl(part) },
  );
}

function assistantItems({ content }: AssistantMessage): HistoryItem[] {
  return content.flatMap((part): HistoryItem[] => {
    if (part.type === "text")
      return part.text === ""
        ? []
        : [{ type: "message", role: "assistant", content: [{ type: "output_text", text: part.text }] }];
    if (part.type !== "toolCall") return [];
    const { id, name } = part;
    return [
      { type: "function_call", name: toolName(name), arguments: JSON.stringify(part.arguments), call_id: id },
    ];
  });
}

/** Head and tail of a long output, with a note about the cut; the model can read the whole by `entryId`. */
function shortened(text: string, entryId: string | undefined): string {
  const left = text.length - HEAD_CHARS - TAIL_CHARS;
  const back = entryId === undefined ? "" : `; the whole is entry ${entryId}, read it with context_expand`;
  return `${text.slice(0, HEAD_CHARS)}\n[${left} characters left out here${back}]\n${text.slice(-TAIL_CHARS)}`;
}

function outputOf(message: ToolResultMessage): { output: string | Content[]; cut: boolean } {
  const hasImage = message.content.some((part) => part.type === "image");
  const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const cut = text.length > MOST_OUTPUT_CHARS;
  const output = cut ? shortened(text, message.entryId) : text;
  if (!hasImage) return { output, cut };
  const images = message.content.filter((part) => part.type === "image");
  return { output: inputContent([{ type: "text", text: output }, ...images]), cut };
}

export function toHistoryItems(messages: readonly AgentMessage[]): Converted {
  const short: string[] = [];
  const items = messages.flatMap((message): HistoryItem[] => {
    if (message.role === "user")
      return [{ type: "message", role: "user", content: inputContent(message.content) }];
    if (message.role === "assistant") return assistantItems(message);
    const { output, cut } = outputOf(message);
    if (cut) short.push(message.entryId ?? message.toolCallId);
    return [{ type: "function_call_output", call_id: message.toolCallId, output }];
  });
  return { items, shortened: short };
}

/** Fragments in the form of items that Codex creates for them. Source: facts of the app-server, section 3. */
export function fragmentItems(fragments: readonly Fragment[]): JsonValue[] {
  return fragments.map(({ role, text }) => ({
    type: "message",
    role,
    content: [{ type: "input_text", text }],
  }));
}
