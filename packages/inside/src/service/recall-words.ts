/** A search of the user or the model in a program's conversation. */
import type { Pagurus } from "@pagurus/contract/host/host";

export interface RecallPlace {
  pagurus: Pagurus;
  sessionKey: string;
  cwd: string;
}

const MOST_HITS = 12;

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
