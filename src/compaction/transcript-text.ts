/** Messages as plain text for a model that is to summarize them. */
import type { AgentMessage } from "../contract/message.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { textOf } from "./message-text.ts";
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

/** Pieces of a text of at most `maxTokens` each, cut at line ends where there are any. */
function piecesOf(text: string, maxTokens: number): string[] {
  const tokens = estimateTokens(text);
  if (tokens <= maxTokens || text.length < 2) return [text];
  const line = text.lastIndexOf("\n", text.length / 2);
  let middle = line > text.length / 4 ? line + 1 : Math.floor(text.length / 2);
  if (/[\uD800-\uDBFF]/.test(text.charAt(middle - 1)) && middle > 1) middle -= 1;
  return [...piecesOf(text.slice(0, middle), maxTokens), ...piecesOf(text.slice(middle), maxTokens)];
}

export interface TranscriptChunk {
  text: string;
  /** How many messages, from the first on, this chunk and those before it hold whole. */
  covered: number;
}

/** The transcript in chunks of at most `maxTokens` estimated tokens, messages whole where they fit. */
export function transcriptChunks(messages: readonly AgentMessage[], maxTokens: number): TranscriptChunk[] {
  const chunks: TranscriptChunk[] = [];
  let text = "";
  let tokens = 0;
  for (const [index, message] of messages.entries()) {
    for (const piece of piecesOf(blockOf(message), maxTokens - 2)) {
      const cost = estimateTokens(piece) + 2;
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
