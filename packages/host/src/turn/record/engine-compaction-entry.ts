/** Transcript entries for compactions that an engine keeps in its own store, so that `status` counts them. */
import type { CompactionTrigger } from "@pagurus/contract/host/events";
import type { CompactionFact } from "@pagurus/contract/host/status";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";

/** `customType` of the entry. It replaces nothing of the context: the engine holds the summary of the older messages. */
export const ENGINE_COMPACTION_ENTRY = "pagurus.engine_compaction";

/** Data of the entry. */
export interface EngineCompaction {
  lane: "queued" | "engine";
  trigger: CompactionTrigger;
  handledBy: string;
  tokensBefore: number;
  tokensAfter?: number;
}

export function engineCompactionFact(entry: TranscriptEntry): CompactionFact | undefined {
  if (entry.type !== "custom" || entry.customType !== ENGINE_COMPACTION_ENTRY) return undefined;
  const { id: entryId, timestamp } = entry;
  return { ...(entry.data as unknown as EngineCompaction), entryId, timestamp, kept: true };
}
