/** Passages of a program's conversation: for a prompt, and for a search of the user or the model. */
import { isRecallBlock } from "@pagurus/contract/engine/recall-block";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { AgentMessage } from "@pagurus/contract/message";

export interface RecallPlace {
  pagurus: Pagurus;
  sessionKey: string;
  cwd: string;
}

const MOST_HITS = 12;

function textOf({ content }: AgentMessage): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

/** The block of passages that the engine adds for a prompt where a part of the conversation is out of sight; empty for none. */
export async function recallFor({ pagurus, sessionKey, cwd }: RecallPlace, prompt: string): Promise<string> {
  const { messages } = await pagurus.context.preview({ sessionKey, cwd, prompt });
  const block = messages.find(
    (message) => message.entryId === undefined && message.role === "user" && isRecallBlock(textOf(message)),
  );
  return block ? textOf(block) : "";
}

/**
 * Results of a search: the engine's passages, which have the words of tool calls too, or where no compaction has taken anything out of
 * sight the messages with the words, each with the id that opens it.
 */
export async function searchWords(
  { pagurus, sessionKey, cwd }: RecallPlace,
  { query, isCompacted }: { query: string; isCompacted: boolean },
): Promise<string> {
  if (isCompacted) return pagurus.command({ name: "recall", args: query, sessionKey, cwd });
  const hits = pagurus.sessions().search(query, { sessionKey, limit: MOST_HITS });
  if (hits.length === 0) return "No message of this conversation has these words.";
  return hits.map(({ entryId, role, snippet }) => `${entryId} ${role}: ${snippet}`).join("\n");
}
