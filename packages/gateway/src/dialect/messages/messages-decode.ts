/** Converts the content blocks of an element to our messages. */
import type { AgentMessage, AssistantMessage, ImagePart, TextPart } from "@pagurus/contract/message";
import { type Fields, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import {
  answerPart,
  blocksOf,
  contentPart,
  isResult,
  resultMessage,
} from "@pagurus/core/protocols/messages/messages-blocks";
import { withoutClock } from "../program-marks.ts";
import { kindOfText, withoutReminders } from "./messages-marks.ts";

/** Text of a text block; undefined for any other block. */
export function blockText(block: Fields | undefined): string | undefined {
  return block?.["type"] === "text" && typeof block["text"] === "string" ? block["text"] : undefined;
}

/** The part for a block that is no text of the user. A type without a counterpart becomes a note. */
function shownPart(block: Fields): TextPart | ImagePart {
  const part = contentPart(block);
  if (part?.type === "image") return part;
  const url = stringOf(recordOf(block["source"])["url"]);
  const what = stringOf(block["type"]) || "block";
  return { type: "text", text: url === "" ? `[${what} left out]` : `[${what}: ${url}]` };
}

/**
 * The user's own text and images, one part per block. Claude Code appends a line feed, which is not the user's, to each message that
 * it joins with the next one.
 */
function userParts(blocks: readonly Fields[], isMarked: boolean): (TextPart | ImagePart)[] {
  return blocks.flatMap((block, index): (TextPart | ImagePart)[] => {
    if (isResult(block)) return [];
    const text = blockText(block);
    if (text === undefined) return [shownPart(block)];
    if (isMarked && kindOfText(text) !== "words") return [];
    const own = withoutClock(text);
    const shown = isMarked && index < blocks.length - 1 ? own.replace(/\n$/, "") : own;
    return shown.trim() === "" ? [] : [{ type: "text", text: shown }];
  });
}

function resultParts(content: unknown, isMarked: boolean): (TextPart | ImagePart)[] {
  return blocksOf(content).flatMap((block): (TextPart | ImagePart)[] => {
    const text = blockText(block);
    if (text === undefined) return [shownPart(block)];
    const shown = isMarked ? withoutReminders(text) : text;
    return shown === "" ? [] : [{ type: "text", text: shown }];
  });
}

/**
 * Results in order, then the user's text. `nameOf` returns the name of the tool of a call. `isMarked`: Claude Code's texts of its own are
 * left out.
 */
export function userMessages(
  blocks: readonly Fields[],
  nameOf: (callId: string) => string | undefined,
  isMarked: boolean,
): AgentMessage[] {
  const results: AgentMessage[] = blocks
    .filter(isResult)
    .map((block) => resultMessage(block, resultParts(block["content"], isMarked), nameOf));
  const content = userParts(blocks, isMarked);
  return content.length > 0 ? [...results, { role: "user", content }] : results;
}

/** A part of an answer that has content; undefined also for a type without a counterpart. */
function filledPart(block: Fields): AssistantMessage["content"][number] | undefined {
  const part = answerPart(block);
  if (part?.type === "text" && part.text === "") return undefined;
  if (part?.type === "thinking" && part.thinking === "" && part.signature === undefined) return undefined;
  return part;
}

export function assistantMessages(blocks: readonly Fields[]): AssistantMessage[] {
  const content = blocks.map(filledPart).filter((part) => part !== undefined);
  return content.length > 0 ? [{ role: "assistant", content }] : [];
}
