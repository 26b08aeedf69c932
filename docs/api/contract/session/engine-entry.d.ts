/** Entries that an engine writes to a session's log (`remember` of the runtime context). */
/** Start of the `customType` of engines' entries. */
export declare const ENGINE_ENTRY_PREFIX = "engine.";
/** `customType` of an engine's entries. */
export declare function engineEntryType(engineId: string): string;
