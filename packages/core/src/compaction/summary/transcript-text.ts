/** Renders messages as plain text for the summarizing model. */
import { labelWord, quoted } from "@pagurus/contract/fence";
import { inputWords } from "@pagurus/contract/input-data";
import type { AgentMessage, UserMessage } from "@pagurus/contract/message";
import { estimateTokens } from "../../tokens/estimate.ts";
import { excerpt } from "./text-excerpt.ts";
import { textOf } from "../message-text.ts";
import type { Pace } from "../../platform/pace.ts";
import { trimText } from "../trim.ts";

/** Limits on one tool result or attachment, and on the arguments of one call. Characters. */
const RESULT_CHARS = 2_000;
const ARGUMENT_CHARS = 1_000;

/** Source name for a label line, without characters that would end the label or the line. */
function labelName(source: string): string {
  return source.replaceAll(/[\p{C}\p{Zl}\p{Zp}[\]<>]/gu, "_");
}

/** The user's own text, then each piece of attached data below a label that names its source. */
function inputBlock(message: UserMessage): string {
  const { words, data } = inputWords(message);
  const blocks = words.trim() === "" && data.length > 0 ? [] : [`[user]\n${quoted(words)}`];
  for (const { source, text } of data)
    blocks.push(`[data from ${labelName(source)}]\n${quoted(excerpt(text, RESULT_CHARS))}`);
  return blocks.join("\n\n");
}

function messageBlock(message: AgentMessage): string {
  if (message.role === "user") return inputBlock(message);
  if (message.role === "toolResult") {
    const outcome = message.isError ? "failed" : "result";
    return `[${outcome} of ${labelWord(message.toolName)}]\n${quoted(excerpt(textOf(message), RESULT_CHARS))}`;
  }
  const lines = [`[assistant]`];
  const text = textOf(message);
  if (text !== "") lines.push(quoted(text));
  for (const part of message.content) {
    if (part.type !== "toolCall") continue;
    const input = quoted(trimText(JSON.stringify(part.arguments), ARGUMENT_CHARS));
    lines.push(`[calls ${labelWord(part.name)}] ${input}`);
  }
  return lines.join("\n");
}

/** Splits a text in two, at a line end near its middle where there is one. */
function halvesOf(text: string): [string, string] {
  const line = text.lastIndexOf("\n", text.length / 2);
  let middle = line > text.length / 4 ? line + 1 : Math.floor(text.length / 2);
  if (/[\uD800-\uDBFF]/.test(text.charAt(middle - 1)) && middle > 1) middle -= 1;
  const rest = text.slice(middle);
  // When a line was split, its second half is a new line and is quoted as one.
  return [text.slice(0, middle), middle === line + 1 ? rest : quoted(rest)];
}

export interface TranscriptChunk {
  text: string;
  /** How many messages, from the first on, this chunk and those before it contain completely. */
  covered: number;
}

/**
 * Splits the transcript into chunks of at most `maxTokens` estimated tokens, messages whole where they fit. In slices.
 */
export async function transcriptChunks(
  messages: readonly AgentMessage[],
  maxTokens: number,
  pace: Pace,
): Promise<TranscriptChunk[]> {
  const chunks: TranscriptChunk[] = [];
  let text = "";
  let tokens = 0;
  for (const [index, message] of messages.entries()) {
    // A stack: the next piece is the last.
    const pieces = [messageBlock(message)];
    for (let piece = pieces.pop(); piece !== undefined; piece = pieces.pop()) {
      const cost = estimateTokens(piece) + 2;
      if (pace.due) await pace.rest();
      if (cost > maxTokens && piece.length > 1) {
        pieces.push(...halvesOf(piece).toReversed());
        continue;
      }
      if (text !== "" && tokens + cost > maxTokens) {
        chunks.push({ text, covered: index });
        text = "";
        tokens = 0;
      }
      text += text === "" ? piece : `\n\n${piece}`;
      tokens += cost;
    }
  }
  if (text !== "") chunks.push({ text, covered: messages.length });
  return chunks;
}
