/**
 * Receipt: the record of one model request. Kept beside the session's transcript; holds ids, hashes and counts, never contents.
 * Source: the design's "The way of a turn", Receipts.
 */
import type { ModelFallback } from "../fallback.ts";
import type { Usage } from "../message.ts";

export type PartSource =
  | "system"
  | "addition"
  | "instructions"
  | "memory"
  | "tools"
  | "head"
  | "history"
  | "recall"
  | "fragment"
  | "live";

export interface ReceiptPart {
  source: PartSource;
  role: "system" | "user" | "assistant" | "toolResult";
  /** Transcript entry; absent for parts that no entry holds. */
  entryId?: string;
  /** Path of a project file, for `instructions`. */
  path?: string;
  tokens: number;
  bytes: number;
  /** First 16 hex digits of SHA-256 over the part's canonical JSON. */
  hash: string;
  /** Size before and after trimming, of a tool result or an image. `aged`: trimmed for its age, not for its size. */
  trimmed?: { fromBytes: number; toBytes: number; aged?: "shortened" | "cleared" };
  /** A thread still shows it, though a later part of the same source has replaced it. */
  stale?: true;
}

/**
 * Why the provider's prompt cache cannot have served all of the session's previous request, as far as the host sees. `model`, `system`,
 * `tools`, `messages`: the first part that changed since then. `time`: the same beginning, but the provider read little of it from its
 * cache, more than five minutes later. `unknown`: the same within five minutes.
 */
export interface CacheMiss {
  cause: "model" | "system" | "tools" | "messages" | "time" | "unknown";
  /** Estimated tokens of the previous request that could not be read from the cache. */
  missedTokens: number;
  /** US dollars that these tokens cost more than from the cache, at the model's prices; absent until usage is reported, or without prices. */
  cost?: number;
}

/** The provider's own finding, in its words. */
export interface CacheDiagnosis {
  /** Such as `tools_changed`. `none`: it found no difference; `pending`: it had not finished when the answer began. */
  reason: string;
  /** As the provider estimates them. */
  missedTokens?: number;
}

/** An answer's report about the provider's prompt cache, if the provider was asked. */
export interface CacheReport {
  /** The provider's id of the answer: the next request is compared with this one's. */
  responseId?: string;
  diagnosis?: CacheDiagnosis;
}

/** Digests of the parts that a harness puts before the conversation itself, in a request through the model gateway. */
export interface OwnParts {
  system: string;
  tools: string;
}

export type Seam = "embedded" | "thread" | "wire" | "projection";

export interface Receipt {
  turnId: string;
  /** 0 for the first request of the turn. */
  request: number;
  /** ISO 8601. */
  timestamp: string;
  /** Purpose of a request that is not the turn's own: `compaction`, or one named by an engine or plugin. */
  purpose?: string;
  seam: Seam;
  runtime: string;
  engine: string;
  model: string;
  /** The request went to a fallback model: the model that it took over from, and why. */
  fallback?: Pick<ModelFallback, "from" | "reason">;
  /** As the engine names them in `contextProjection`. */
  epoch?: string;
  fingerprint?: string;
  parts: ReceiptPart[];
  /** Index in `parts` of the first part of the live turn. */
  liveFrom: number;
  /** Number of leading parts equal to those of the session's previous request. */
  sharedParts: number;
  /** Estimated tokens of that shared prefix. */
  sharedTokens: number;
  /** Estimate of the whole request, without the correction by the provider's report (`usage` has that). */
  tokens: number;
  tokenBudget: number;
  /** Count used for thresholds: the larger of the engine's estimate of its context and the host's, calibrated. */
  contextTokens?: number;
  /** Tokens that the harness adds to its requests by itself, where measured; no part includes them. */
  fixedTokens?: number;
  /** Why the request is not the engine's plain answer, if so. */
  degraded?: string;
  usage?: Usage;
  own?: OwnParts;
  /** Absent while neither the host nor the provider has found anything. */
  cache?: CacheReport & { miss?: CacheMiss };
}
