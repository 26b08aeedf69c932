/** Entries that an engine writes to a session's log (`remember` of the runtime context). */
/** Start of the `customType` of engines' entries. */
export const ENGINE_ENTRY_PREFIX = "engine.";

/** `customType` of an engine's entries. */
export function engineEntryType(engineId: string): string {
  return `${ENGINE_ENTRY_PREFIX}${engineId}`;
}
