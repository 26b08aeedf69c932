/** Converts a user message to the input of a native turn. */
import type { AgentMessage, ImagePart, TextPart, UserMessage } from "@pagurus/contract/message";
import { imageDataUrl } from "@pagurus/core/protocols/protocol-parts";
import type { UserInput } from "../protocol.ts";

/** Limit of text in one input of Codex, characters. Source: facts of the app-server, section 3. */
export const MOST_INPUT_CHARS = 1_048_576;

/** `words` replace the message's own text, before its images. */
export function inputOf({ content }: UserMessage, words?: string): UserInput[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const texts = words === undefined ? parts : parts.filter(({ type }) => type !== "text");
  const replacement = words === undefined ? [] : [{ type: "text" as const, text: words }];
  return [...replacement, ...texts].map(nativePart);
}

export function nativePart(part: TextPart | ImagePart): UserInput {
  return part.type === "text"
    ? { type: "text", text: part.text, text_elements: [] }
    : { type: "image", url: imageDataUrl(part) };
}

export function inputsOf(messages: readonly UserMessage[]): UserInput[] {
  return messages.flatMap((message) => inputOf(message));
}

/** Excludes fragments, which reach Codex as the set of the turn. */
export function isConversation(message: AgentMessage): boolean {
  return message.role !== "user" || message.fragment === undefined;
}

export function wordsOf({ content }: UserMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
