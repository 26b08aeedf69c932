/** Interface of what finds older content, as the bench calls it. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";

export interface Passage {
  /** Of the message that holds the text. */
  entryId: string;
  text: string;
}

export interface Recaller {
  name: string;
  /** The one answer is a context: it has no pages, and is no answer of a tool. */
  isPreview?: boolean;
  /** Takes a history, oldest first; each message has an entry id. Called once. */
  index(messages: readonly AgentMessage[]): void | Promise<void>;
  /**
   * Passages for a question, best first. `budgetTokens` is counted by `estimateTokens` over their texts; what exceeds it is
   * not read. `page` requests what comes after the pages before it, each of the same budget.
   */
  recall(
    question: string,
    budgetTokens: number,
    page?: number,
  ): readonly Passage[] | Promise<readonly Passage[]>;
  close?(): void | Promise<void>;
}

const CHUNK_CHARACTERS = 1_200;

/** Texts of at most about 1,200 characters, cut at line ends where there are any; joined they are the text. */
export function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  let start = 0;
  while (text.length - start > CHUNK_CHARACTERS) {
    const most = start + CHUNK_CHARACTERS;
    const line = text.lastIndexOf("\n", most);
    const end = line > start + CHUNK_CHARACTERS / 2 ? line + 1 : most;
    chunks.push(text.slice(start, end));
    start = end;
  }
  chunks.push(text.slice(start));
  return chunks;
}
