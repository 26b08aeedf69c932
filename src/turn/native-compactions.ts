/** Compactions that a runtime made of its own thread, kept with the session so that `status` can tell them. */
import type { TurnEvent } from "../contract/events.ts";
import type { CompactionFact } from "../contract/status.ts";
import type { TranscriptEntry } from "../contract/transcript.ts";

/** `customType` of the entry. It replaces nothing of the context: the transcript holds what the thread has lost. */
export const NATIVE_COMPACTION_ENTRY = "pagurus.native_compaction";

type Kept = Pick<CompactionFact, "trigger" | "handledBy" | "tokensBefore" | "tokensAfter">;

/** What is kept of an event; undefined for one that is no runtime's own compaction. */
export function nativeCompactionData(event: TurnEvent): Kept | undefined {
  if (event.type !== "compaction.completed" || event.lane !== "native") return undefined;
  const { trigger, handledBy, tokensBefore, tokensAfter } = event;
  return { trigger, handledBy, tokensBefore, tokensAfter };
}

export function nativeCompactionFact(entry: TranscriptEntry): CompactionFact | undefined {
  if (entry.type !== "custom" || entry.customType !== NATIVE_COMPACTION_ENTRY) return undefined;
  const { id: entryId, timestamp } = entry;
  return { ...(entry.data as Kept), entryId, timestamp, lane: "native" };
}
