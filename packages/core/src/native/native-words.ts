/** Messages as text, for the seam `projection`: the same message is the same bytes. */
import { labelWord, quoted } from "@pagurus/contract/fence";
import type { AgentMessage } from "@pagurus/contract/message";
import { imageWord, NO_IMAGES, type ProjectedImages } from "./projected-images.ts";

/** Sorts the keys of an object, since the insertion order differs between engines and must not change the bytes. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([name, item]) => [name, canonical(item)]));
}

/** Text of a message: calls with their arguments; images are named only. Quoted content is escaped. */
function textOf(message: AgentMessage, images: ProjectedImages): string {
  if (typeof message.content === "string") return quoted(message.content);
  const parts: string[] = [];
  for (const part of message.content) {
    if (part.type === "text") parts.push(quoted(part.text));
    else if (part.type === "image") parts.push(imageWord(part, images));
    else if (part.type === "toolCall") {
      const args = quoted(JSON.stringify(canonical(part.arguments)));
      parts.push(`[tool call ${labelWord(part.id)}: ${labelWord(part.name)} ${args}]`);
    }
  }
  return parts.join("\n");
}

function speakerLabel(message: AgentMessage): string {
  if (message.role === "user" && message.fragment) return "[additional context]";
  if (message.role !== "toolResult") return `[${message.role}]`;
  const failed = message.isError ? ", failed" : "";
  return `[tool result ${labelWord(message.toolCallId)}${failed}]`;
}

/** Line between the context and the current user message. */
export const REQUEST_LINE = "Current user request:";

/**
 * Messages in order inside a fence, each below a label line. Their text can neither close the fence nor write a label.
 * Undefined when no message has text. `images`: those that are sent beside it.
 */
export function fencedContext(
  messages: readonly AgentMessage[],
  images: ProjectedImages = NO_IMAGES,
): string | undefined {
  const blocks = messages
    .map((message) => ({ message, text: textOf(message, images) }))
    .filter(({ text }) => text !== "")
    .map(({ message, text }) => `${speakerLabel(message)}\n${text}`);
  if (blocks.length === 0) return undefined;
  return `<conversation_context>\n${blocks.join("\n\n")}\n</conversation_context>`;
}

/** A fragment of additional context as text of a prompt: its own wrapper, and a value that cannot close it. */
export function fragmentWords(text: string): string {
  const [, tag, value] = /^<([^<>\s/]+)>([^]*)<\/\1>$/.exec(text) ?? [];
  if (tag === undefined || value === undefined) return quoted(text);
  return `<${tag}>${quoted(value, tag)}</${tag}>`;
}
