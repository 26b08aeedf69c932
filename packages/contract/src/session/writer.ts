/** One open session: its single writer, and its readers. Part of the store's contract (`store.ts`). */
import type { AgentMessage } from "../message.ts";
import type { RewriteRequest, TranscriptRewriteResult } from "../engine/runtime-context.ts";
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
  /** Named by a program or the user. */
  name?: string;
  /** First text of the person. */
  title?: string;
  /** Workspace that the key was made for; absent where a caller chose the key. */
  folder?: string;
  /** Number of turns with entries in it; none in an import. Of one session it is counted when it is read, 0 once its store is closed. */
  turnCount?: number;
  /** False for earlier generations under the same key (after `/new`, `/reset`, a rotating compaction). */
  current: boolean;
  /** Generation number under the key; 1 for the first. */
  generation: number;
}

/** Something that happened while a session was opened; each is shown to the user, none is an error. */
export interface OpenNotice {
  kind:
    | "torn_line"
    | "quarantined_line"
    | "header_lost"
    | "interrupted_turn"
    | "index_rebuilt"
    | "stale_lock_taken";
  /** One sentence with counts and ids, no contents. */
  detail: string;
  turnId?: string;
}

/** The end of the active path as messages, oldest first. */
export interface ContextSlice {
  messages: AgentMessage[];
  /** False when older messages exist that no summary covers. */
  complete: boolean;
  /** Entries of additional context (`fragment.ts`) among the messages, in order; absent if there are none. */
  notes?: readonly ContextNote[];
}

/** An entry that the host places between messages. */
export interface ContextNote {
  entryId: string;
  customType: string;
  data: unknown;
  /** The message that follows; absent at the end. Never a tool result, which belongs to its call. */
  nextEntryId?: string;
  /** Input of the entry's turn; absent where the slice does not hold it. */
  inputEntryId?: string;
}

/** The entries of a turn in a session. */
export interface RecordedTurn {
  /** Its end is recorded; nothing is added to it. */
  isOver: boolean;
  /** Its messages on the path, each with `entryId`; the input is the first. */
  messages: AgentMessage[];
  /** The entry before it; null if it begins the conversation. */
  leafBefore: string | null;
}

/** A turn that the engine has not taken. */
export interface UnfinalizedTurn {
  turnId: string;
  messages: AgentMessage[];
  heartbeat: boolean;
}

/** The one writer of a session. Append order is file order. */
export interface SessionWriter {
  readonly record: SessionRecord;
  readonly notices: readonly OpenNotice[];
  /** Calls back with each notice after the opening: a read may find a line that was changed. One listener. Never throws. */
  listen(listener: (notice: OpenNotice) => void): void;
  /** Id of the last entry of the active path; null while the conversation is empty. */
  readonly leafId: string | null;
  readonly cursor: TranscriptCursor;
  /**
   * Context of the next turn: the messages of the active path from the last compaction on, its summary first (as a user message), custom
   * messages included, each with `entryId`. Reads the tail only, and stops walking back at a turn boundary once `maxBytes` of lines are
   * read (`complete` is then false). A line that cannot be parsed is left out with a notice, not an error.
   */
  contextMessages(limit?: { maxBytes: number }): ContextSlice;
  /**
   * Called before the first `contextMessages` of a turn, with its limit. Reads its lines in pieces, between which the host serves others.
   * Absent: `contextMessages` reads them at once. Throws as `contextMessages`.
   */
  prepareContext?(limit?: { maxBytes: number }): Promise<void>;
  /** Messages of turns whose commit has `finalized: false`, oldest first, each read when the iteration reaches it, which throws
   * `store_read_failed`; so `markFinalized` may be called meanwhile. */
  unfinalizedTurns(): Iterable<UnfinalizedTurn>;
  /**
   * Writes one line. Throws `store_write_failed`, `lock_lost`; a store that sends lines without waiting throws at the next call, a commit
   * at the latest, what became of an earlier one.
   */
  append(entry: NewEntry): TranscriptEntry;
  /** Writes the commit marker and fsyncs; the same turn id twice is a no-op that returns false. Throws as `append`. */
  commitTurn(turn: Omit<Extract<NewEntry, { type: "turn_commit" }>, "type">): boolean;
  /** Undefined for a turn without an entry. Throws `store_read_failed`. */
  recordedTurn(turnId: string): RecordedTurn | undefined;
  /** Marks an earlier unfinalized turn as taken by the engine; any other turn is ignored. Throws as `append`. */
  markFinalized(turnId: string): void;
  /** Moves the leaf to an entry of this session (null: before everything). Throws `entry_not_found`. */
  rewind(targetId: string | null): void;
  /**
   * Replaces messages by a branch of new entries from the first replaced one on, each with `supersedes`, in one durable step. Entries of a
   * turn without a commit marker, off the path, of another role, or unknown, and later messages that `allowed` lacks, are refused: `changed:
   * false` with the reason. Throws `store_write_failed`, `lock_lost`.
   */
  rewrite(replacements: readonly RewriteRequest[], allowed?: readonly string[]): TranscriptRewriteResult;
  /** Position of an entry; undefined for an id that the session does not have. Throws `store_read_failed`. */
  place(entryId: string): EntryPlace | undefined;
  /** Releases the lock. Never throws. */
  close(): void;
}

export interface EntryPlace {
  /** Number of the entry's line; 1 for the first after the header. */
  rawSeq: number;
  /** 0-based position among the messages of the active path; undefined off the path. */
  messagePosition: number | undefined;
}

export interface SessionReader {
  readonly record: SessionRecord;
  readonly cursor: TranscriptCursor;
  readonly leafId: string | null;
  readonly notices: readonly OpenNotice[];
  /** As the writer's. A line that cannot be parsed is left out without an error. */
  contextMessages(limit?: { maxBytes: number }): ContextSlice;
  /** Set while a live process writes to the session; `since` (ISO 8601) is when it took the lock. */
  readonly runningIn?: { pid: number; since: string };
  /** Turns that have entries but no commit marker and that no process is running. Throws `store_read_failed`. */
  interruptedTurns(): string[];
  /** Closes the file; the cursor throws `store_read_failed` afterwards. */
  close(): void;
}
