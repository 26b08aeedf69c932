/** Takeovers by fallback models in the transcript: custom entries, recorded when they happen. */
import type { ModelFallback } from "@pagurus/contract/fallback";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";

export const FALLBACK_ENTRY = "pagurus.model_fallback";

/** Undefined for any other entry. */
export function recordedFallback(
  entry: TranscriptEntry,
): (ModelFallback & { turnId: string; timestamp: string }) | undefined {
  if (entry.type !== "custom" || entry.customType !== FALLBACK_ENTRY) return undefined;
  return { ...(entry.data as ModelFallback), turnId: entry.turnId ?? "", timestamp: entry.timestamp };
}
