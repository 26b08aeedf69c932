/**
 * The transcript: an append-only tree of JSON lines. Source: the design's "Where things live for a user".
 * Entry ids are assigned by the host, sort in order of writing, and are never inferred from text.
 */
import type { AgentMessage, Usage } from "../message.ts";

/** First line of a transcript file. */
export interface SessionHeader {
  type: "session";
  version: 3;
  id: string;
  /** ISO 8601. */
  timestamp: string;
  cwd: string;
  /** The session and entry that this one was forked from. */
  parentSession?: { sessionId: string; entryId: string };
}

interface EntryBase {
  id: string;
  /** The entry before this one on its branch; null for the first. */
  parentId: string | null;
  /** ISO 8601. */
  timestamp: string;
  /** The turn that wrote the entry; an entry without one is final at once. */
  turnId?: string;
  /** Fencing epoch of the writer's lock. */
  epoch?: number;
}

export interface MessageEntry extends EntryBase {
  type: "message";
  message: AgentMessage;
  /** Id of the entry that this one replaces; the old text stays readable by the old id. */
  supersedes?: string;
}

export interface CompactionEntry extends EntryBase {
  type: "compaction";
  summary: string;
  /** First entry that stays verbatim; what lies before it on the path is represented by the summary. */
  firstKeptEntryId: string;
  /** Set when a live turn was cut: its input entry, which stays verbatim before the summary. */
  splitTurnInputId?: string;
  tokensBefore: number;
  tokensAfter?: number;
  /** Who made the summary. */
  origin: "model" | "extractive" | "engine" | "hook";
  lane?: "queued" | "in-attempt" | "harness" | "engine";
  trigger?: "threshold" | "overflow" | "manual";
  /** Engine id, `built-in`, `safeguard`, or the plugin's id. */
  handledBy?: string;
  /** Of the model calls that made the summary. */
  usage?: Usage;
  details?: unknown;
}

/** Data of the host, an engine or a plugin; never shown to a model. */
export interface CustomEntry extends EntryBase {
  type: "custom";
  customType: string;
  data?: unknown;
}

/** Text shown to a model that is not a user's message (fragments, notices). */
export interface CustomMessageEntry extends EntryBase {
  type: "custom_message";
  customType: string;
  content: string;
  display?: boolean;
  details?: unknown;
}

export interface ModelChangeEntry extends EntryBase {
  type: "model_change";
  provider: string;
  modelId: string;
}

export interface SessionInfoEntry extends EntryBase {
  type: "session_info";
  name?: string;
}

/** Moves the leaf: the next entry's parent is `targetId` (null: an empty conversation). Files are listed, not touched. */
export interface RewindEntry extends EntryBase {
  type: "rewind";
  targetId: string | null;
}

export type TurnOutcome = "completed" | "failed" | "aborted" | "interrupted";

/** Makes the entries of a turn final. Written once per turn and fsynced; `interrupted` is written at reopening. */
export interface TurnCommitEntry extends EntryBase {
  type: "turn_commit";
  turnId: string;
  outcome: TurnOutcome;
  /** Error code when the outcome is `failed`. */
  code?: string;
  /** The turn was a heartbeat. */
  heartbeat?: boolean;
  /** False when the engine did not take the turn; it is offered again before the next one. */
  finalized?: boolean;
}

export type TranscriptEntry =
  | MessageEntry
  | CompactionEntry
  | CustomEntry
  | CustomMessageEntry
  | ModelChangeEntry
  | SessionInfoEntry
  | RewindEntry
  | TurnCommitEntry;

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
/** Input of `append`; the store assigns id, parent, time and epoch. */
export type NewEntry = DistributiveOmit<TranscriptEntry, "id" | "parentId" | "timestamp" | "epoch">;

/** Read access to the active path of a session, in either direction, in slices. Never loads the whole file. */
export interface TranscriptCursor {
  /**
   * Entries on the path, root to leaf, after `afterId` (exclusive) where set. The iteration throws `entry_not_found` for an id
   * off the path, `store_read_failed` once the session is closed.
   */
  forward(afterId?: string): AsyncIterable<TranscriptEntry>;
  /** Entries on the path, leaf to root, before `beforeId` (exclusive) where set. Throws as `forward`. */
  backward(beforeId?: string): AsyncIterable<TranscriptEntry>;
  /** One entry by id, on or off the path; undefined when there is none. Rejects with `store_read_failed` as `forward`. */
  get(id: string): Promise<TranscriptEntry | undefined>;
  /**
   * (+) The entries that an engine wrote with `remember`, and every compaction, on or off the path, newest first. Absent where only
   * the path can be read. Throws as `forward`.
   */
  ofEngine?(engineId: string): AsyncIterable<CustomEntry | CompactionEntry>;
}
