/** Converts the content blocks of an element to our messages. */
import type { AgentMessage, AssistantMessage, ImagePart, TextPart } from "../../../contract/message.ts";
import { type Fields, recordOf, recordsOf, stringOf } from "../../../data/record-fields.ts";
import { argumentsOf } from "../../../protocols/protocol-parts.ts";
import { kindOfText, withoutReminders } from "./messages-marks.ts";

/** Content as blocks; a text is one block. */
export function blocksOf(content: unknown): readonly Fields[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : recordsOf(content);
}

/** Text of a text block; undefined for any other block. */
export function blockText(block: Fields | undefined): string | undefined {
  return block?.["type"] === "text" && typeof block["text"] === "string" ? block["text"] : undefined;
}

/** The part for a block that is no text of the user. A type without a counterpart becomes a note. */
function shownPart(block: Fields): TextPart | ImagePart {
  const source = recordOf(block["source"]);
  if (block["type"] === "image" && source["type"] === "base64")
    return { type: "image", data: stringOf(source["data"]), mimeType: stringOf(source["media_type"]) };
  const url = stringOf(source["url"]);
  const what = stringOf(block["type"]) || "block";
  return { type: "text", text: url === "" ? `[${what} left out]` : `[${what}: ${url}]` };
}

/**
 * The user's own text and images, one part per block. Claude Code appends a line feed, which is not the user's, to each message that
 * it joins with the next one.
 */
function userParts(blocks: readonly Fields[]): (TextPart | ImagePart)[] {
  return blocks.flatMap((block, index): (TextPart | ImagePart)[] => {
    if (block["type"] === "tool_result") return [];
    const text = blockText(block);
    if (text === undefined) return [shownPart(block)];
    if (kindOfText(text) !== "words") return [];
    const shown = index < blocks.length - 1 ? text.replace(/\n$/, "") : text;
    return shown.trim() === "" ? [] : [{ type: "text", text: shown }];
  });
}

function resultParts(content: unknown): (TextPart | ImagePart)[] {
  return blocksOf(content).flatMap((block): (TextPart | ImagePart)[] => {
    const text = blockText(block);
    if (text === undefined) return [shownPart(block)];
    const shown = withoutReminders(text);
    return shown === "" ? [] : [{ type: "text", text: shown }];
  });
}

/** Results in order, then the user's text. `nameOf` returns the name of the tool of a call. */
export function userMessages(
  blocks: readonly Fields[],
  nameOf: (callId: string) => string | undefined,
): AgentMessage[] {
  const results = blocks
    .filter(({ type }) => type === "tool_result")
    .map((block): AgentMessage => {
      const toolCallId = stringOf(block["tool_use_id"]);
      return {
        role: "toolResult",
        toolCallId,
        toolName: nameOf(toolCallId) ?? "unknown",
        content: resultParts(block["content"]),
        isError: block["is_error"] === true,
      };
    });
  const content = userParts(blocks);
  return content.length > 0 ? [...results, { role: "user", content }] : results;
}

/** A block of an answer; undefined for a type without a counterpart, such as a search that the provider ran itself. */
export function answerPart(block: Fields): AssistantMessage["content"][number] | undefined {
  switch (block["type"]) {
    case "text": {
      const text = stringOf(block["text"]);
      return text === "" ? undefined : { type: "text", text };
    }
    case "thinking": {
      const thinking = stringOf(block["thinking"]);
      const signature = stringOf(block["signature"]);
      if (thinking === "" && signature === "") return undefined;
      return { type: "thinking", thinking, ...(signature === "" ? {} : { signature }) };
    }
    case "redacted_thinking":
      return { type: "thinking", thinking: "", signature: stringOf(block["data"]), redacted: true };
    case "tool_use": {
      const { id, name, input } = block;
      return {
        type: "toolCall",
        id: stringOf(id),
        name: stringOf(name) || "unknown",
        arguments: argumentsOf(input),
      };
    }
    default:
      return undefined;
  }
}

export function assistantMessages(blocks: readonly Fields[]): AssistantMessage[] {
  const content = blocks.map(answerPart).filter((part) => part !== undefined);
  return content.length > 0 ? [{ role: "assistant", content }] : [];
}
