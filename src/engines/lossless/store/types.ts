/** What the store of the lossless engine takes and gives. Tokens are stored estimates, times epoch milliseconds. */
import type { AgentMessage } from "../../../contract/message.ts";
import type { TranscriptEntry } from "../../../contract/transcript.ts";

export type EntryKind = TranscriptEntry["type"];
export type Role = AgentMessage["role"];

export interface SessionInfo {
  sessionId: string;
  sessionKey?: string;
  /** Last entry of the active path as far as the store knows it; null for an empty conversation. */
  leafId: string | null;
  /** Entries of the active path, of every kind. */
  entries: number;
  /** Tokens of the active path's messages. */
  tokens: number;
  /** False while an adoption has not come to the transcript's end. */
  adopted: boolean;
}

/** An entry without its words. */
export interface EntryInfo {
  entryId: string;
  kind: EntryKind;
  /** Of messages. */
  role?: Role;
  tokens: number;
  /** Tokens of the path from its root to this entry, both included: a span costs the difference of two. */
  tokensUpTo: number;
  /** 0-based, among the entries of every kind from the root. */
  position: number;
  time: number;
  turnId?: string;
  /** Entry whose place this one takes. */
  supersedes?: string;
}

export interface StoredEntry extends EntryInfo {
  /** Of kind `message`: the message as it was ingested, without `entryId`. A fresh object. */
  message?: AgentMessage;
  /** Of every other kind: the whole entry. */
  entry?: TranscriptEntry;
}

export interface WalkOptions {
  /** Exclusive; the leaf is included where absent. */
  before?: string;
  /** The walk ends before the entry that would exceed it; the newest entry is always returned. */
  maxTokens?: number;
  maxMessages?: number;
  /** Exclusive end: the walk stops before this entry. */
  after?: string;
  /** Which kinds are returned; `["message"]` where absent. Others cost nothing. */
  kinds?: readonly EntryKind[];
}

export interface Walk<Item> {
  /** Oldest first. */
  items: Item[];
  tokens: number;
  /** True when the walk came to the root or to `after`. */
  complete: boolean;
}

export interface IngestResult {
  stored: number;
  /** Entries that were there already. */
  known: number;
  leafId: string | null;
}

export interface AdoptOptions {
  sessionKey?: string;
  signal?: AbortSignal;
  /** `later` resolves as soon as all is stored; words are found once `indexed()` or a search has seen to it. */
  index?: "now" | "later";
  /** Called after each batch that is on the disk. */
  onProgress?: (progress: { stored: number; known: number }) => void;
}

export interface PageOptions {
  /** Goes on behind this entry; from the start of the range where absent. */
  after?: string;
  /** Entries of a page; 100 where absent. */
  limit?: number;
  /** Tokens of a page; the first entry is always returned. */
  maxTokens?: number;
  kinds?: readonly EntryKind[];
}

export interface Page {
  items: StoredEntry[];
  /** Give as `after` for the next page; absent at the end. */
  next?: string;
}

export interface SearchQuery {
  query: string;
  /** Session ids; every session where absent. */
  sessions?: readonly string[];
  /** 20 where absent, 200 at most. */
  limit?: number;
  /** Only what is older than this entry of the first of `sessions` (by position on the path). */
  before?: string;
  /** Also looks into summaries; true where absent. */
  nodes?: boolean;
}

export interface SearchHit {
  kind: "entry" | "node";
  /** Of an entry; for a node the id of its first source entry. */
  entryId: string;
  nodeId?: string;
  sessionId: string;
  sessionKey?: string;
  /** `summary` for nodes and compaction entries, `notice` for messages of the host. */
  role: Role | "summary" | "notice";
  /** One line around the words. */
  snippet: string;
  /** Higher is better; comparable within one answer only. */
  score: number;
  /** False for entries off the active path of `sessionId`. */
  onPath: boolean;
  position: number;
  time: number;
}

export type NodeKind = "leaf" | "condensed";
export type NodeOrigin = "model" | "extractive" | "engine";
export type NodeState = "prepared" | "published" | "replaced";

/** A summary. Its id is the caller's, made from what it summarizes, so that the same work done twice is one node. */
export interface SummaryNode {
  nodeId: string;
  sessionId: string;
  kind: NodeKind;
  /** 0 for leaves. */
  depth: number;
  /** First and last source entry, both included; entries of one path. */
  firstEntryId: string;
  lastEntryId: string;
  /** Ids of the nodes that a condensed one stands for, in order; empty for leaves. */
  children: readonly string[];
  text: string;
  tokens: number;
  /** Tokens of the source entries. */
  sourceTokens: number;
  origin: NodeOrigin;
  /** `provider/model` where a model made it. */
  model?: string;
  state: NodeState;
  /** Order of making within the store; given by it. */
  order: number;
  /** Whatever the engine keeps with it (identifiers, files touched), as JSON. */
  details?: unknown;
}
export type NewNode = Omit<SummaryNode, "order">;

/** What stands before the kept messages of a session. */
export interface Frontier {
  /** Rises by one with each publication; 0 before the first. */
  version: number;
  /** Nodes that cover the summarized prefix, oldest first. */
  nodeIds: readonly string[];
  /** First entry that stays verbatim; null while nothing is summarized. */
  firstKeptEntryId: string | null;
  /** Whatever the engine keeps with it (epoch, fingerprint), as JSON. */
  details?: unknown;
}
export type NewFrontier = Omit<Frontier, "version">;

/** Work that a model still owes. Its id is the caller's. */
export interface Debt {
  debtId: string;
  sessionId: string;
  firstEntryId: string;
  lastEntryId: string;
  attempts: number;
  /** Not before this time. */
  nextAt: number;
  /** Code of the last failure. */
  errorCode?: string;
  details?: unknown;
}

/** One model call's cost. */
export interface Spend {
  sessionId: string;
  at: number;
  calls: number;
  tokens: number;
  /** US dollars. */
  cost: number;
}

export interface Pin {
  entryId: string;
  pinnedAt: number;
  note?: string;
}

export interface StoreNotice {
  kind: "rebuilt_corrupt" | "created";
  /** One sentence without contents. */
  detail: string;
}

export interface VerifyReport {
  ok: boolean;
  /** One sentence for each thing that is wrong. */
  problems: string[];
  counts: { sessions: number; entries: number; texts: number; payloads: number; nodes: number };
}

export interface SizeReport {
  /** Bytes of the database file and of its log. */
  file: number;
  wal: number;
  /** Bytes of pages that are free. */
  free: number;
  entries: number;
  texts: number;
  /** Bytes of the texts and payloads themselves. */
  textBytes: number;
  payloadBytes: number;
}

export interface PayloadStub {
  /** SHA-256, hex. */
  hash: string;
  /** Bytes. */
  size: number;
  mime: string;
}
