/** Interface of subagents for the stages of a turn. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { TurnEvent } from "@pagurus/contract/host/events";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { UserMessage } from "@pagurus/contract/message";
import type { PluginTool } from "@pagurus/contract/host/plugin";
import type { RunRequest, SpawnedAgent, SpawnRequest } from "@pagurus/contract/host/run";
import type { SubagentFact } from "@pagurus/contract/host/status";
import type { CostGate } from "../cost/cost-limits.ts";
import type { Guard } from "../guard/guard.ts";

/** A running turn, as far as its children need it. */
export interface ParentTurn {
  sessionKey: string;
  sessionId: string;
  turnId: string;
  cwd: string;
  /** The model of a child that names none; undefined: the configured one, with its fallbacks. */
  modelRef: string | undefined;
  permission: RunRequest["permission"];
  audience?: RunRequest["audience"];
  /** The turn's cost gate: its limits apply to the children too, and it counts their cost. */
  cost?: CostGate | undefined;
  harness: AgentHarness;
  engine: ContextEngine;
  guard: Guard;
  /** The last entry before the live turn; null when the turn is the session's first. */
  forkAt: () => string | null;
  /** Its abort releases the children that the turn has started. */
  signal: AbortSignal;
  emit(event: TurnEvent): void;
}

/** The end of a child as the parent's model sees it: a volatile message, never an entry of the parent. */
export interface SubagentResult {
  childSessionKey: string;
  message: UserMessage;
}

export interface SubagentPort {
  /** 0 for a session that is no child. */
  depthOf(sessionKey: string): number;
  /** `spawn_agent` bound to a turn; undefined when its depth allows no child. It needs no permission of its own. */
  tool(parent: ParentTurn): (PluginTool & { readOnly: true }) | undefined;
  /**
   * Pending results of a session, oldest first; each stays until `delivered`. Never rejects: an unreadable result is reported to
   * `onFailure` and stays.
   */
  results(sessionKey: string, onFailure?: (reason: string) => void): Promise<SubagentResult[]>;
  /** Called when the parent's turn that saw them is committed. Never throws; what cannot be recorded is delivered again. */
  delivered(childSessionKeys: readonly string[]): void;
  /**
   * Resolves when the next child that a turn of the session has started has ended; undefined when none runs. A turn does not wait for those
   * of library calls: their results join it if they arrive in time.
   */
  nextEnd(sessionKey: string): Promise<void> | undefined;
  /**
   * Ends children of a session and waits for them, for 15 seconds at most. `released`: those that its turn has started; the turn ends
   * without them. `renewed`: all its children, and pending results are dropped; the engine gets `released`. `deleted`: all below it, and
   * the session itself when it is a child; results are dropped.
   */
  endChildren(sessionKey: string, reason: "released" | "renewed" | "deleted"): Promise<void>;
  /** Keys of all sessions below a session, the deepest first; to be deleted with it. */
  descendants(sessionKey: string): string[];
  /** Removes the records of a session and its descendants; called when they are deleted. */
  forget(sessionKey: string): void;
  /** The gate of the turn that has started a child, which pays for it; undefined for any other session. */
  costOf(sessionKey: string): CostGate | undefined;
  /** Resolves when all current children have ended. */
  idle(): Promise<void>;
  /** Children that have not ended, and those with a pending result. */
  facts(sessionKey: string): SubagentFact[];
  /** Library call outside a turn. Throws `subagent_limit`, `usage_invalid`, `engine_failed`, and what refuses a run. */
  spawn(request: SpawnRequest): Promise<SpawnedAgent>;
  /**
   * Ends children past their time-to-live, takes over those whose process died, and reports missed ends to the engine. Never rejects. Runs
   * by itself while children run here.
   */
  sweep(): Promise<void>;
  /** Releases running children, within 15 seconds, and closes the registry. Call it before the engine is disposed of. */
  close(): Promise<void>;
}
