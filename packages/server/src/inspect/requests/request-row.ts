/** One model request of a session in a list: what its receipt and its capture have in common. */
import type { Usage } from "@pagurus/contract/message";
import type { Receipt, Seam } from "@pagurus/contract/session/receipt";

/** Tokens are estimates unless they are of `usage`; costs are US dollars. */
export interface RequestRow {
  /** `<turn id>.<number>`, or `c<number>` of a capture that has no receipt. */
  id: string;
  /** ISO 8601. */
  at: string;
  turnId?: string;
  runtime: string;
  seam?: Seam;
  engine?: string;
  model: string;
  /** Absent for a turn's own request. */
  purpose?: string;
  epoch?: string;
  /** Number of parts in the receipt. */
  parts?: number;
  tokens?: number;
  tokenBudget?: number;
  sharedTokens?: number;
  degraded?: string;
  usage?: Usage;
  /** Share of the input that the provider read from its cache, 0 to 1. */
  cacheShare?: number;
  cache?: Receipt["cache"];
  /** Present where the body is on the disk. */
  captured?: CapturedFacts;
}

export interface CapturedFacts {
  /** Number of the capture. */
  number: number;
  /** Which attempt of the capture it is, from 1. */
  attempt: number;
  /** `main`, `compaction`, `subagent`, `side`, `count`, `unknown`. */
  kind: string;
  /** Bytes of the body as it was sent; absent where nothing was sent. */
  bytes?: number;
  status?: number;
  answeredBy?: string;
  totalMs?: number;
}
