/** Messages as plain text for a model that is to summarize them. */
import type { AgentMessage } from "../contract/message.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { textOf } from "./message-text.ts";
import type { Pace } from "../platform/pace.ts";
import { trimText } from "./trim.ts";

/** Characters of one tool result, and of the arguments of one call, that a summarizer sees. */
const RESULT_CHARS = 2_000;
const ARGUMENT_CHARS = 1_000;

function blockOf(message: AgentMessage): string {
  if (message.role === "user") return `[user]\n${textOf(message)}`;
  if (message.role === "toolResult") {
    const outcome = message.isError ? "failed" : "result";
    return `[${outcome} of ${message.toolName}]\n${trimText(textOf(message), RESULT_CHARS)}`;
  }
  const lines = [`[assistant]`];
  const text = textOf(message);
  if (text !== "") lines.push(text);
  for (const part of message.content) {
    if (part.type !== "toolCall") continue;
    lines.push(`[calls ${part.name}] ${trimText(JSON.stringify(part.arguments), ARGUMENT_CHARS)}`);
  }
  return lines.join("\n");
}

/** A text in two, cut at a line end where there is one near its middle. */
function halvesOf(text: string): [string, string] {
  const line = text.lastIndexOf("\n", text.length / 2);
  let middle = line > text.length / 4 ? line + 1 : Math.floor(text.length / 2);
  if (/[\uD800-\uDBFF]/.test(text.charAt(middle - 1)) && middle > 1) middle -= 1;
  return [text.slice(0, middle), text.slice(middle)];
}

export interface TranscriptChunk {
  text: string;
  /** How many messages, from the first on, this chunk and those before it hold whole. */
  covered: number;
}

/**
 * The transcript in chunks of at most `maxTokens` estimated tokens, messages whole where they fit. Made in slices.
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
    // The next piece last.
    const pieces = [blockOf(message)];
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
