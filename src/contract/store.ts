/**
 * The session store as the host uses it. One embedded implementation (`src/session`); the interface leaves room
 * for one in a database server.
 */
import type { NativeHistory } from "./native.ts";
import type { NewEntry } from "./transcript.ts";
import type { SessionReader, SessionRecord, SessionWriter } from "./writer.ts";

/** A successor that a rotating compaction made: a transcript file, or a session that the store has already. */
export interface Successor {
  sessionId: string;
  file?: string;
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
  openWriter(
    sessionKey: string,
    options: { cwd: string; create?: boolean; deadlineMs?: number },
  ): SessionWriter;
  /** Read-only view; takes no lock. Throws `session_not_found`. */
  openReader(sessionKey: string, sessionId?: string): SessionReader;
  list(): SessionRecord[];
  find(sessionKey: string): SessionRecord | undefined;
  search(query: string, options?: { limit?: number; sessionKey?: string }): SearchHit[];
  /** A new empty generation under the same key (`/new`, `/reset`). */
  renew(sessionKey: string, options: { cwd: string }): SessionRecord;
  /** An id for a session that will be created; unique, and newer than all there are. */
  reserveId(): string;
  /** A new empty session under a key that has none. Throws `session_exists`. */
  create(sessionKey: string, options: { cwd: string; sessionId?: string }): SessionRecord;
  /** A new session under `newKey` with the path of another up to `entryId` (default: its leaf). */
  fork(sessionKey: string, newKey: string, options?: { entryId?: string; sessionId?: string }): SessionRecord;
  /**
   * Makes a successor the current generation of a key, in one durable step: its transcript is copied in (with
   * `carry`, the entries of the live turn that it lacks, at its end), then the key points to it. The caller holds
   * the writer of the present generation, which is closed. Returns the successor's writer. Throws `import_invalid`,
   * `session_exists` (the id belongs to another key), `store_write_failed`; then nothing has changed.
   */
  rotate(writer: SessionWriter, successor: Successor, carry: readonly NewEntry[]): SessionWriter;
  /** Removes every generation of a key and each byte of its words: transcript, index, receipts. */
  delete(sessionKey: string): { sessions: number; bytes: number };
  /** Our export: the transcript's bytes, or Markdown for people. */
  export(sessionKey: string, format: "jsonl" | "markdown"): AsyncIterable<Uint8Array>;
  /**
   * Takes our JSON lines export (one with a corrupt line is refused), or the conversation of another program. `tell`
   * is given a sentence on each thing that was taken, left out or set aside. An empty session under the key gives way
   * to it. Throws `import_invalid`, `session_exists`, `session_locked`.
   */
  import(
    source: string | NativeHistory,
    options?: { sessionKey?: string; format?: string; tell?: (sentence: string) => void },
  ): Promise<SessionRecord>;
  close(): void;
}
