/** Types of the lossless engine's store. Tokens are stored estimates, times are epoch milliseconds. */
import type { AgentMessage } from "@pagurus/contract/message";
import type { TranscriptEntry } from "@pagurus/contract/session/transcript";

export type EntryKind = TranscriptEntry["type"];
export type Role = AgentMessage["role"];

export interface SessionInfo {
  sessionId: string;
  sessionKey?: string;
  /** Last known entry of the active path; null for an empty conversation. */
  leafId: string | null;
  /** Number of entries of the active path, of every kind. */
  entries: number;
  /** Tokens of the active path's messages. */
  tokens: number;
  /** False until an adoption has reached the transcript's end. */
  adopted: boolean;
}

/** An entry without its content. */
export interface EntryInfo {
  entryId: string;
  kind: EntryKind;
  /** Role of a message. */
  role?: Role;
  tokens: number;
  /** Tokens of the path from its root to this entry, both inclusive: a span has the difference of two. */
  tokensUpTo: number;
  /** 0-based, among the entries of every kind from the root. */
  position: number;
  time: number;
  turnId?: string;
  /** Entry that this one replaces. */
  supersedes?: string;
}

export interface StoredEntry extends EntryInfo {
  /** For kind `message`: the message as ingested, without `entryId`. A fresh object. */
  message?: AgentMessage;
  /** For every other kind: the whole entry. */
  entry?: TranscriptEntry;
}

export interface WalkOptions {
  /** Exclusive start; default: from the leaf on, inclusive. */
  before?: string;
  /** The walk ends before the entry that would exceed it; the newest entry is always returned. */
  maxTokens?: number;
  maxMessages?: number;
  /** Exclusive end: the walk stops before this entry. */
  after?: string;
  /** Kinds to return; default `["message"]`. Others cost nothing. */
  kinds?: readonly EntryKind[];
}

export interface Walk<Item> {
  /** Oldest first. */
  items: Item[];
  tokens: number;
  /** True when the walk reached the root or `after`. */
  complete: boolean;
}

export interface IngestResult {
  stored: number;
  /** Number of entries that existed already. */
  known: number;
  leafId: string | null;
}

export interface AdoptOptions {
  sessionKey?: string;
  signal?: AbortSignal;
  /** `later` resolves when everything is stored; texts are indexed by `indexed()` or the next search. */
  index?: "now" | "later";
  /** Called after each written batch. */
  onProgress?: (progress: { stored: number; known: number }) => void;
}

export interface PageOptions {
  /** Continue after this entry; default: the start of the range. */
  after?: string;
  /** Limit on the entries of a page; default 100. */
  limit?: number;
  /** Limit on the tokens of a page; the first entry is always returned. */
  maxTokens?: number;
  kinds?: readonly EntryKind[];
}

export interface Page {
  items: StoredEntry[];
  /** Pass as `after` for the next page; absent at the end. */
  next?: string;
}

export interface SearchQuery {
  query: string;
  /** Session ids; default: every session. */
  sessions?: readonly string[];
  /** Default 20, at most 200. */
  limit?: number;
  /** Only entries older than this entry of the first of `sessions` (by position on the path). */
  before?: string;
  /** Also search summaries and compaction entries; default true. */
  nodes?: boolean;
  /** When the query is asked, for such dates in it as `yesterday`; ms since the epoch. Default: they are words as others. */
  askedAt?: number;
  /** Only messages from this time on, ms since the epoch. Summaries have no time and are left out. */
  from?: number;
  /** Only messages before this time, ms since the epoch. Summaries are left out. */
  to?: number;
  /** Only messages of this author. Summaries are left out. */
  who?: Role;
  /** Only messages with a line of this person of a group, by name or address. Summaries are left out. */
  writer?: string;
  /** What was written right before the query and may say what it is about: its words order what is found, and find nothing by themselves. Only for a query with a least match. */
  beside?: string | undefined;
  /** Turns are also ranked by all of their words, as is best where people talk. Default false. */
  ranksTurns?: boolean;
}

export interface SearchHit {
  kind: "entry" | "node";
  /** Id of the entry; for a node, of its first source entry. */
  entryId: string;
  nodeId?: string;
  sessionId: string;
  sessionKey?: string;
  /** `summary` for nodes and compaction entries, `notice` for messages of the host. */
  role: Role | "summary" | "notice";
  /** One line of text around the words. */
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

/** A summary. The caller derives its id from the source, so that the same work done twice is one node. */
export interface SummaryNode {
  nodeId: string;
  sessionId: string;
  kind: NodeKind;
  /** 0 for leaves. */
  depth: number;
  /** First and last source entry, both inclusive; entries of one path. */
  firstEntryId: string;
  lastEntryId: string;
  /** Ids of the nodes that were condensed into this one, in order; empty for leaves. */
  children: readonly string[];
  text: string;
  tokens: number;
  /** Tokens of the source entries. */
  sourceTokens: number;
  origin: NodeOrigin;
  /** `provider/model`, when a model wrote it. */
  model?: string;
  state: NodeState;
  /** Order of creation, assigned by the store. */
  order: number;
  /** Data of the engine (identifiers, files touched), as JSON. */
  details?: unknown;
}
export type NewNode = Omit<SummaryNode, "order">;

/** The summaries before the kept messages of a session. */
export interface Frontier {
  /** Incremented by each publication; 0 before the first. */
  version: number;
  /** Nodes that cover the summarized prefix, oldest first. */
  nodeIds: readonly string[];
  /** First entry that stays verbatim; null while nothing is summarized. */
  firstKeptEntryId: string | null;
  /** Data of the engine (epoch, fingerprint), as JSON. */
  details?: unknown;
}
export type NewFrontier = Omit<Frontier, "version">;

/** Pending work for a model. The caller chooses its id. */
export interface Debt {
  debtId: string;
  sessionId: string;
  firstEntryId: string;
  lastEntryId: string;
  attempts: number;
  /** Earliest time of the next attempt. */
  nextAt: number;
  /** Error code of the last failure. */
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
  /** One sentence without session contents. */
  detail: string;
}

export interface VerifyReport {
  ok: boolean;
  /** One sentence per problem. */
  problems: string[];
  counts: { sessions: number; entries: number; texts: number; payloads: number; nodes: number };
}

export interface SizeReport {
  /** Bytes of the database file and of its log. */
  file: number;
  wal: number;
  /** Bytes of free pages. */
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
