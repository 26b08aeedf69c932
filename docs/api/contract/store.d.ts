/**
 * The session store as the host uses it. One embedded implementation (`src/session`); the interface leaves room
 * for one in a database server.
 */
import type { AgentMessage } from "./message.ts";
import type { NewEntry, TranscriptCursor, TranscriptEntry } from "./transcript.ts";
export interface SessionRecord {
    sessionKey: string;
    sessionId: string;
    file: string;
    cwd: string;
    /** ISO 8601. */
    createdAt: string;
    updatedAt: string;
    entryCount: number;
    bytes: number;
    name?: string;
    /** False for earlier generations under the same key (after `/new`, `/reset`). */
    current: boolean;
}
/** What happened while a session was opened; each is shown to the user, none is an error. */
export interface OpenNotice {
    kind: "torn_line" | "quarantined_line" | "header_lost" | "interrupted_turn" | "index_rebuilt" | "stale_lock_taken";
    /** One sentence with counts and ids, no contents. */
    detail: string;
    turnId?: string;
}
/** The end of the active path as messages, oldest first. */
export interface ContextSlice {
    messages: AgentMessage[];
    /** False when older messages exist that no summary stands for. */
    complete: boolean;
}
/** The one writer of a session. Append order is file order. */
export interface SessionWriter {
    readonly record: SessionRecord;
    readonly notices: readonly OpenNotice[];
    /** Id of the last entry of the active path; null while the conversation is empty. */
    readonly leafId: string | null;
    readonly cursor: TranscriptCursor;
    /**
     * Context of the next turn: the messages of the active path from the last compaction on, its summary first
     * (as a user message), custom messages included, each with `entryId`. Reads the tail only, and stops walking
     * back at a turn boundary once `maxBytes` of lines are read (`complete` is then false).
     */
    contextMessages(limit?: {
        maxBytes: number;
    }): ContextSlice;
    /**
     * Messages of the turns whose commit says `finalized: false`, oldest first. Each turn is read when the iteration
     * comes to it, so `markFinalized` may be called meanwhile.
     */
    unfinalizedTurns(): Iterable<{
        turnId: string;
        messages: AgentMessage[];
    }>;
    /** Writes one line. Throws `store_write_failed`, `lock_lost`. */
    append(entry: NewEntry): TranscriptEntry;
    /** Writes the commit marker and fsyncs; the same turn id twice is a no-op that returns false. */
    commitTurn(turn: Omit<Extract<NewEntry, {
        type: "turn_commit";
    }>, "type">): boolean;
    /** Marks an earlier unfinalized turn as taken by the engine. */
    markFinalized(turnId: string): void;
    /** Moves the leaf to an entry of this session (null: before everything). Throws `entry_not_found`. */
    rewind(targetId: string | null): void;
    /** Releases the lock. Never throws. */
    close(): void;
}
export interface SearchHit {
    sessionKey: string;
    sessionId: string;
    entryId: string;
    role: string;
    timestamp: string;
    /** Part of the text around the match. */
    snippet: string;
    /** False when the entry is off the active path (rewound, superseded). */
    onPath: boolean;
}
export interface SessionStore {
    /** Opens the current session of a key, creating it where there is none. Throws `session_locked`, `store_*`. */
    openWriter(sessionKey: string, options: {
        cwd: string;
        create?: boolean;
        deadlineMs?: number;
    }): SessionWriter;
    /** Read-only view; takes no lock. Throws `session_not_found`. */
    openReader(sessionKey: string, sessionId?: string): SessionReader;
    list(): SessionRecord[];
    find(sessionKey: string): SessionRecord | undefined;
    search(query: string, options?: {
        limit?: number;
        sessionKey?: string;
    }): SearchHit[];
    /** A new empty generation under the same key (`/new`, `/reset`). */
    renew(sessionKey: string, options: {
        cwd: string;
    }): SessionRecord;
    /** A new session under `newKey` with the path of another up to `entryId` (default: its leaf). */
    fork(sessionKey: string, newKey: string, options?: {
        entryId?: string;
    }): SessionRecord;
    /** Removes every generation of a key and each byte of its words: transcript, index, receipts. */
    delete(sessionKey: string): {
        sessions: number;
        bytes: number;
    };
    /** Our export: the transcript's bytes, or Markdown for people. */
    export(sessionKey: string, format: "jsonl" | "markdown"): AsyncIterable<Uint8Array>;
    /** Takes our JSON lines export; a file with a corrupt line is refused. Throws `import_invalid`. */
    import(file: string, options?: {
        sessionKey?: string;
    }): Promise<SessionRecord>;
    close(): void;
}
export interface SessionReader {
    readonly record: SessionRecord;
    readonly cursor: TranscriptCursor;
    readonly leafId: string | null;
    readonly notices: readonly OpenNotice[];
    contextMessages(limit?: {
        maxBytes: number;
    }): ContextSlice;
    /** Set while a live process writes to the session; `since` (ISO 8601) is when it took the lock. */
    readonly runningIn?: {
        pid: number;
        since: string;
    };
    /** Turns that have entries but no commit marker and that nobody is running. */
    interruptedTurns(): string[];
    close(): void;
}
