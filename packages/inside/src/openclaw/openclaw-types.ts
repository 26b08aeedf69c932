/** The part of OpenClaw's plugin interface that the adapter uses. A test checks it against OpenClaw's own types. */
import type { PartMessage } from "../client/part-message.ts";

export interface ClawMessage extends PartMessage {
  timestamp?: number | string;
}

interface ClawSession {
  sessionId: string;
}

export interface ClawAssemble extends ClawSession {
  messages: ClawMessage[];
  tokenBudget?: number;
  prompt?: string;
}

export interface ClawCompact extends ClawSession {
  customInstructions?: string;
}

export interface ClawCommit extends ClawSession {
  advancementKey: string;
  messages: ClawMessage[];
}

export interface ClawCompacted {
  ok: boolean;
  compacted: boolean;
  reason?: string;
  result?: { summary: string; tokensBefore: number; tokensAfter?: number };
}

export interface ClawEngine {
  info: {
    id: string;
    name: string;
    ownsCompaction: boolean;
    transcriptSemantics: {
      currentTurnFence: "before-current-turn-entry-v1";
      turnAdvancementIdempotency: "atomic-idempotent-v1";
    };
  };
  ingest(): Promise<{ ingested: boolean }>;
  assemble(params: ClawAssemble): Promise<{ messages: ClawMessage[]; estimatedTokens: number }>;
  compact(params: ClawCompact): Promise<ClawCompacted>;
  commitTurn(params: ClawCommit): Promise<{ status: "committed" | "duplicate" }>;
}

export interface ClawPlace {
  workspaceDir?: string;
  agentDir?: string;
}

interface ClawTool {
  name: string;
  label: string;
  description: string;
  parameters: object;
  execute(
    callId: string,
    params: Record<string, unknown>,
  ): Promise<{ content: { type: "text"; text: string }[]; details: object }>;
}

export interface ClawToolPlace extends ClawPlace {
  sessionId?: string;
}

/** `api`: all that a plugin reaches. */
export interface ClawApi {
  registerContextEngine(id: string, make: (place: ClawPlace) => ClawEngine): void;
  registerTool(make: (place: ClawToolPlace) => ClawTool[], options: { names: string[] }): void;
}
