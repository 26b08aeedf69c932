/**
 * The session store as the host uses it. One embedded implementation (`packages/host/src/stores/files`); the interface allows one in a database
 * server.
 */
import type { NativeHistory } from "../harness/native.ts";
import type { SharedRecords } from "./shared-records.ts";
import type { NewEntry } from "./transcript.ts";
import type { SessionReader, SessionRecord, SessionWriter } from "./writer.ts";

/** Successor made by a rotating compaction: a transcript file, or a session that the store already has. */
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

/** An exclusive claim of a conversation by one live program or turn. */
export interface SessionHold {
  readonly sessionKey: string;
  /** Never throws. */
  release(): void;
}

export interface SessionStore {
  /**
   * Opens the current session of a key, creating it where there is none. `continues`: a turn that was cut off and that the caller
   * continues, so it gets no end. Throws `session_locked`, `store_*`.
   */
  openWriter(
    sessionKey: string,
    options: { cwd: string; create?: boolean; deadlineMs?: number; continues?: string | undefined },
  ): SessionWriter;
  /** Read-only view; takes no lock. Throws `session_not_found`. */
  openReader(sessionKey: string, sessionId?: string): SessionReader;
  /** Every session and generation, last used first. Throws `store_read_failed`. */
  list(): SessionRecord[];
  /** The current generation; undefined for a key without a session. Throws `session_key_invalid`, `store_read_failed`. */
  find(sessionKey: string): SessionRecord | undefined;
  /**
   * Messages with all words of the query, else some; best first, 20 by default. `allows`: keys of the only sessions that are searched,
   * also counted and ranked. Throws `store_read_failed`.
   */
  search(
    query: string,
    options?: { limit?: number; sessionKey?: string; allows?: (sessionKey: string) => boolean },
  ): SearchHit[];
  /** Starts a new empty generation under the same key (`/new`, `/reset`). Throws `store_write_failed`. */
  renew(sessionKey: string, options: { cwd: string }): SessionRecord;
  /** Reserves an id for a new session; unique, and newer than all existing ones. Throws `store_read_failed`. */
  reserveId(): string;
  /** Conversations whose key was made for a folder, last used first. Throws `store_read_failed`. */
  inFolder(folder: string): SessionRecord[];
  /** The key of a folder's first conversation, or the one it would get now. Throws `store_read_failed`. */
  firstKey(folder: string): string;
  /**
   * Claims a conversation for one live program or turn: another process cannot open it for writing until it is released or its
   * process has ended. A session created under the key meanwhile belongs to `folder`. Throws `session_locked` where another
   * holds it, `session_key_invalid`.
   */
  hold(sessionKey: string, folder?: string): SessionHold;
  /**
   * Claims a new conversation of a folder, under a key that no session has and no live program has claimed. Throws
   * `store_write_failed`.
   */
  begin(folder: string): SessionHold;
  /** Creates an empty session under an unused key. Throws `session_exists`. */
  create(sessionKey: string, options: { cwd: string; sessionId?: string; folder?: string }): SessionRecord;
  /** Creates a session under `newKey` with the path of another up to `entryId` (default: its leaf). Copies and indexes in slices. */
  fork(
    sessionKey: string,
    newKey: string,
    options?: { entryId?: string; sessionId?: string },
  ): Promise<SessionRecord>;
  /**
   * Makes a successor the current generation of a key, in one durable step: its transcript is copied in (with `carry`, the
   * entries of the live turn that it lacks, at its end), then the key points to it. The caller holds the writer of the present
   * generation, which is closed. Returns the successor's writer. Throws `import_invalid`, `session_exists` (the id belongs to
   * another key), `store_write_failed`; then nothing has changed.
   */
  rotate(writer: SessionWriter, successor: Successor, carry: readonly NewEntry[]): SessionWriter;
  /**
   * Removes every generation of a key, and of the keys in `also`, with all its stored text: transcript, index, receipts. All of them are
   * locked first; the next use of the store removes the rest after a crash. Throws `session_not_found`, `session_locked`,
   * `store_write_failed`.
   */
  delete(sessionKey: string, also?: readonly string[]): { sessions: number; bytes: number };
  /**
   * Exports in our format: the transcript's bytes, or Markdown for people. Throws `session_not_found`; the iteration throws
   * `store_read_failed`.
   */
  export(sessionKey: string, format: "jsonl" | "markdown"): AsyncIterable<Uint8Array>;
  /**
   * Imports our JSON lines export (refused with a corrupt line), or the conversation of another program. The callback gets a sentence
   * for each thing that was taken, skipped or set aside. An empty session under the key is replaced. Throws `import_invalid`,
   * `session_exists`, `session_locked`.
   */
  import(
    source: string | NativeHistory,
    options?: { sessionKey?: string; format?: string; tell?: (sentence: string) => void },
  ): Promise<SessionRecord>;
  /** Offered by a store that several hosts share. Without it the files of this host are all there is. */
  readonly shared?: SharedRecords;
  /** Closes the index; later calls throw `store_read_failed`. */
  close(): void;
}
