import { ENGINE_ENTRY_PREFIX } from "@pagurus/contract/session/engine-entry";

export const ENGINE_ID = "lossless";
const ENTRY_TYPE = `${ENGINE_ENTRY_PREFIX}${ENGINE_ID}`;

/** Whether an entry of a transcript may be one of the session's log: the engine's own, or a compaction. */
export function isOfLog(entry: { type: string; customType?: string }): boolean {
  return entry.type === "compaction" || entry.customType === ENTRY_TYPE;
}
