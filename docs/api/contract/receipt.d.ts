/**
 * The record of what one request to a model held. Kept beside the session's transcript; holds ids, hashes and
 * counts, never contents. Source: the design's "The way of a turn", Receipts.
 */
import type { Usage } from "./message.ts";
export type PartSource = "system" | "addition" | "instructions" | "memory" | "tools" | "head" | "history" | "recall" | "fragment" | "live";
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
    /** What was left out of the part as sent: a trimmed tool result, a dropped image. */
    trimmed?: {
        fromBytes: number;
        toBytes: number;
    };
}
export type Seam = "native" | "thread" | "wire" | "projection";
export interface Receipt {
    turnId: string;
    /** 0 for the first request of the turn. */
    request: number;
    /** ISO 8601. */
    timestamp: string;
    /** What a request was for that is not the turn's own: `compaction`, or what an engine or plugin says. */
    purpose?: string;
    seam: Seam;
    runtime: string;
    engine: string;
    model: string;
    /** As the engine names them in `contextProjection`. */
    epoch?: string;
    fingerprint?: string;
    parts: ReceiptPart[];
    /** Index in `parts` of the first part of the live turn. */
    liveFrom: number;
    /** How many leading parts are the same as in the session's previous request. */
    sharedParts: number;
    /** Estimated tokens of that shared prefix. */
    sharedTokens: number;
    /** Estimate of the whole request, not corrected by what the provider reports (`usage` is). */
    tokens: number;
    tokenBudget: number;
    /** What the harness adds to its requests by itself, tokens, where it was measured; no part tells of it. */
    fixedTokens?: number;
    /** Why the request is not the engine's plain answer, if so. */
    degraded?: string;
    usage?: Usage;
}
