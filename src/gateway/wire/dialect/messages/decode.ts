/** Blocks of an element's content as messages of ours. */
import type { AgentMessage, AssistantMessage, ImagePart, TextPart } from "../../../../contract/message.ts";
import { argumentsOf } from "../../../../responses/items.ts";
import { fieldsOf, listOf, textOf, type Fields } from "../../json/fields.ts";
import { kindOfText, withoutReminders } from "./marks.ts";

/** Content as blocks; a text is one block. */
export function blocksOf(content: unknown): readonly Fields[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
}

/** Text of a text block; undefined for any other block. */
export function blockText(block: Fields | undefined): string | undefined {
  return block?.["type"] === "text" && typeof block["text"] === "string" ? block["text"] : undefined;
}

/** What a block shows that is no text of the user's. Where our messages have no part for it, a note stands in its place. */
function shownPart(block: Fields): TextPart | ImagePart {
  const source = fieldsOf(block["source"]);
  if (block["type"] === "image" && source["type"] === "base64")
    return { type: "image", data: textOf(source["data"]), mimeType: textOf(source["media_type"]) };
  const url = textOf(source["url"]);
  const what = textOf(block["type"]) || "block";
  return { type: "text", text: url === "" ? `[${what} left out]` : `[${what}: ${url}]` };
}

/**
 * The user's own words and images, one part a block. Claude Code puts a line feed behind each message that it joins with the
 * next one, which is none of the user's.
 */
function userParts(blocks: readonly Fields[]): (TextPart | ImagePart)[] {
  return blocks.flatMap((block, index): (TextPart | ImagePart)[] => {
    if (block["type"] === "tool_result") return [];
    const text = blockText(block);
    if (text === undefined) return [shownPart(block)];
    if (kindOfText(text) !== "words") return [];
    const said = index < blocks.length - 1 ? text.replace(/\n$/, "") : text;
    return said.trim() === "" ? [] : [{ type: "text", text: said }];
  });
}

function resultParts(content: unknown): (TextPart | ImagePart)[] {
  return blocksOf(content).flatMap((block): (TextPart | ImagePart)[] => {
    const text = blockText(block);
    if (text === undefined) return [shownPart(block)];
    const said = withoutReminders(text);
    return said === "" ? [] : [{ type: "text", text: said }];
  });
}

/** Results in order, then the user's words. `nameOf` tells the name of the tool that a call asked for. */
export function userMessages(
  blocks: readonly Fields[],
  nameOf: (callId: string) => string | undefined,
): AgentMessage[] {
  const results = blocks
    .filter(({ type }) => type === "tool_result")
    .map((block): AgentMessage => {
      const toolCallId = textOf(block["tool_use_id"]);
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

/** A block of an answer; undefined for what has no words of ours, such as a search that the provider made by itself. */
export function answerPart(block: Fields): AssistantMessage["content"][number] | undefined {
  switch (block["type"]) {
    case "text": {
      const text = textOf(block["text"]);
      return text === "" ? undefined : { type: "text", text };
    }
    case "thinking": {
      const thinking = textOf(block["thinking"]);
      const signature = textOf(block["signature"]);
      if (thinking === "" && signature === "") return undefined;
      return { type: "thinking", thinking, ...(signature === "" ? {} : { signature }) };
    }
    case "redacted_thinking":
      return { type: "thinking", thinking: "", signature: textOf(block["data"]), redacted: true };
    case "tool_use": {
      const { id, name, input } = block;
      return {
        type: "toolCall",
        id: textOf(id),
        name: textOf(name) || "unknown",
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
