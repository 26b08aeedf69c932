/** Transcript entries for a runtime's compactions of its own thread, shown by `status`. */
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { CompactionFact } from "@pagurus/contract/host/status";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";

/** `customType` of the entry. It replaces nothing of the context: the transcript has what the thread has lost. */
export const NATIVE_COMPACTION_ENTRY = "pagurus.native_compaction";

type Kept = Pick<CompactionFact, "trigger" | "handledBy" | "tokensBefore" | "tokensAfter">;

/** Data kept of an event; undefined for any event but a runtime's own compaction. */
export function nativeCompactionData(event: TurnEvent): Kept | undefined {
  if (event.type !== "compaction.completed" || event.lane !== "harness") return undefined;
  const { trigger, handledBy, tokensBefore, tokensAfter } = event;
  return { trigger, handledBy, tokensBefore, tokensAfter };
}

export function nativeCompactionFact(entry: TranscriptEntry): CompactionFact | undefined {
  if (entry.type !== "custom" || entry.customType !== NATIVE_COMPACTION_ENTRY) return undefined;
  const { id: entryId, timestamp } = entry;
  return { ...(entry.data as Kept), entryId, timestamp, lane: "harness" };
}
