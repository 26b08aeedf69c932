/** Answers of the inspector's routes; a test compares them with the API's schemas. Tokens are estimates, times are ISO 8601. */
import type { Usage } from "@pagurus/contract/message";
import type { Receipt, Seam } from "@pagurus/contract/session/receipt";

export type PartSource =
  | "framing"
  | "settings"
  | "system"
  | "tools"
  | "addition"
  | "instructions"
  | "memory"
  | "head"
  | "kept"
  | "live"
  | "recall"
  | "fragment"
  | "harness"
  | "unread";

export interface InspectedRequest {
  id: string;
  at: string;
  turnId?: string | undefined;
  runtime: string;
  seam?: Seam | undefined;
  engine?: string | undefined;
  model: string;
  /** Absent for a turn's own request. */
  purpose?: string | undefined;
  epoch?: string | undefined;
  parts?: number | undefined;
  tokens?: number | undefined;
  tokenBudget?: number | undefined;
  sharedTokens?: number | undefined;
  degraded?: string | undefined;
  usage?: Usage | undefined;
  /** 0 to 1. */
  cacheShare?: number | undefined;
  cache?: Receipt["cache"] | undefined;
  captured?:
    | {
        number: number;
        attempt: number;
        kind: string;
        bytes?: number | undefined;
        status?: number | undefined;
        answeredBy?: string | undefined;
        totalMs?: number | undefined;
      }
    | undefined;
}

/** What a session's model requests took, as the providers reported it. */
export interface SessionUsage {
  requests: number;
  /** With those from a cache. */
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** US dollars; absent where no price is known. */
  cost?: number | undefined;
  /** Of the newest request that was a turn's own. */
  model?: string | undefined;
  runtime?: string | undefined;
}

/** Of one request, or of several of a long session that follow each other. */
export interface CurvePoint {
  /** Id of the request with the most tokens. */
  request: string;
  /** Of the first one, from 1. */
  number: number;
  requests: number;
  at: string;
  /** Of the largest one. */
  tokens: number;
  /** 0 to 1. */
  cacheShare?: number | undefined;
  /** US dollars a request. */
  cost?: number | undefined;
}

export interface RequestCurve {
  points: CurvePoint[];
  /** Number of the session's own requests. */
  requests: number;
  /** US dollars of all requests. */
  cost?: number | undefined;
}

/** Kinds of words that a report can leave out. */
export type RedactedKind = "system" | "tools" | "user" | "assistant" | "results" | "summaries";

export interface SourceSum {
  source: PartSource;
  parts: number;
  bytes: number;
  tokens: number;
}

export interface RequestDetails {
  request: InspectedRequest;
  captured: boolean;
  /** Why there is no body. */
  why?: string | undefined;
  body?: { bytes: number; isEncoded: boolean; notes: string[] } | undefined;
  sums: SourceSum[];
  parts: number;
}

export interface InspectedPart {
  /** Byte offsets in the body; absent where none is captured. */
  from?: number | undefined;
  to?: number | undefined;
  source: PartSource;
  at?: string | undefined;
  role?: string | undefined;
  entryIds?: string[] | undefined;
  path?: string | undefined;
  tokens: number;
  bytes: number;
  trimmed?: { fromBytes: number; toBytes: number } | undefined;
  cached?: boolean | undefined;
}

export interface ChangedPart {
  change: "added" | "removed" | "changed" | "moved";
  /** Index among the earlier request's parts. */
  before?: number | undefined;
  /** Index among the later request's parts. */
  after?: number | undefined;
}

export interface RequestDiff {
  /** Id of the earlier request. */
  before: string;
  /** Whether both bodies are captured; without them there is only `why`. */
  captured: boolean;
  why?: string | undefined;
  /** Absent for equal bodies. */
  firstByte?: number | undefined;
  /** Index of the later request's part that has it. */
  firstPart?: number | undefined;
  /** Of the later request, before that part. */
  sharedTokens?: number | undefined;
  restTokens?: number | undefined;
  unchangedParts?: number | undefined;
  changes?: ChangedPart[] | undefined;
}

export type LeftOutPlace = "summarized" | "evicted" | "obsolete" | "trimmed" | "off-path";

export interface LeftOutEntry {
  entryId: string;
  at: string;
  role: string;
  bytes: number;
  where: LeftOutPlace;
  summaryId?: string | undefined;
  by?: string | undefined;
  trimmed?: { fromBytes: number; toBytes: number } | undefined;
}

export interface LeftOutSum {
  where: LeftOutPlace;
  summaryId?: string | undefined;
  by?: string | undefined;
  entries: number;
  bytes: number;
  firstEntryId: string;
  lastEntryId: string;
}

export interface InspectedSummary {
  id: string;
  kind: string;
  depth: number;
  firstEntryId: string;
  lastEntryId: string;
  children: string[];
  origin: string;
  model?: string | undefined;
  tokens: number;
  sourceTokens: number;
  isShown: boolean;
}

export interface InspectedCompaction {
  entryId: string;
  at: string;
  epoch?: string | undefined;
  lane?: string | undefined;
  trigger?: string | undefined;
  handledBy?: string | undefined;
  origin: string;
  tokensBefore: number;
  tokensAfter?: number | undefined;
  cost?: number | undefined;
  firstKeptEntryId: string;
  splitInputId?: string | undefined;
  summaries: InspectedSummary[];
  obsolete: Record<string, string>;
  /** The first request of its epoch. */
  firstRequest?: string | undefined;
}

interface Item {
  id: string;
  at: string;
}

/** Where an entry is on the line of time. */
export interface TimelinePlace {
  /** Id of its item. */
  item: string;
  /** Number of newer items. */
  newer: number;
}

export type TimelineItem =
  | (Item & {
      kind: "turn";
      turnId: string;
      title: string;
      inputEntryId?: string | undefined;
      entries: number;
      /** Absent while it runs. */
      outcome?: string | undefined;
      code?: string | undefined;
      runtimes: string[];
      onPath: boolean;
    })
  | (Item & { kind: "request"; request: InspectedRequest })
  | (Item & {
      kind: "compaction";
      entryId: string;
      lane?: string | undefined;
      trigger?: string | undefined;
      handledBy?: string | undefined;
      origin?: string | undefined;
      epoch?: string | undefined;
      tokensBefore: number;
      tokensAfter?: number | undefined;
      summaries: number;
    })
  | (Item & { kind: "rewind"; targetId: string | null })
  | (Item & { kind: "fork"; sessionId: string; entryId: string })
  | (Item & { kind: "degradation"; turnId?: string | undefined; stage: string; reason: string });
