/** Parameters and results of an engine's `compact` and `interceptCompaction`. Token counts are estimates unless noted. */
import type { FileParams } from "./engine-params.ts";
import type { AgentMessage } from "../message.ts";
import type { SessionTarget } from "./runtime-context.ts";

export interface CompactParams extends FileParams {
  /** The agent that owns the session. */
  agentId?: string;
  tokenBudget?: number;
  force?: boolean;
  currentTokenCount?: number;
  compactionTarget?: "budget" | "threshold";
  customInstructions?: string;
  abortSignal?: AbortSignal;
}
export interface CompactResult {
  ok: boolean;
  compacted: boolean;
  reason?: string;
  result?: {
    summary?: string;
    firstKeptEntryId?: string;
    /** Set with a `firstKeptEntryId` inside the live turn: the turn's input, which stays before the summary. */
    splitTurnInputId?: string;
    origin?: "model" | "extractive" | "engine";
    tokensBefore: number;
    tokensAfter?: number;
    details?: unknown;
    sessionId?: string;
    sessionFile?: string;
    sessionTarget?: SessionTarget;
  };
  /** The successor of a rotating compaction may also be named here. */
  sessionId?: string;
  sessionFile?: string;
}

export interface CompactionInterceptRequest {
  sessionId: string;
  sessionKey?: string;
  sessionFile: string;
  contextWindow: number;
  currentTokenCount?: number;
  firstKeptEntryId: string;
  tokensBefore: number;
  messages: AgentMessage[];
  customInstructions?: string;
  trigger: "threshold" | "overflow" | "manual";
  backend: string;
  signal: AbortSignal;
}
export type CompactionInterceptResult =
  | { handled: true; summary: string; firstKeptEntryId: string; tokensBefore: number; details?: unknown }
  | { handled: false; reason: string };
