/** What the rooms of a turn see of subagents. */
import type { ContextEngine } from "../../contract/engine.ts";
import type { TurnEvent } from "../../contract/events.ts";
import type { AgentHarness } from "../../contract/harness.ts";
import type { UserMessage } from "../../contract/message.ts";
import type { PluginTool } from "../../contract/plugin.ts";
import type { RunRequest, SpawnedAgent, SpawnRequest } from "../../contract/run.ts";
import type { SubagentFact } from "../../contract/status.ts";
import type { CostGate } from "../cost.ts";
import type { Guard } from "../guard.ts";

/** A running turn, as far as its children need it. */
export interface ParentTurn {
  sessionKey: string;
  sessionId: string;
  turnId: string;
  cwd: string;
  modelRef: string;
  permission: RunRequest["permission"];
  /** The turn's gate: its limits hold for the children too, and it counts what they cost. */
  cost?: CostGate | undefined;
  harness: AgentHarness;
  engine: ContextEngine;
  guard: Guard;
  /** The last entry before the live turn; null where the turn is the session's first. */
  forkAt: () => string | null;
  /** Its abort releases the children that the turn has started. */
  signal: AbortSignal;
  emit(event: TurnEvent): void;
}

/** The end of a child, as its parent's model is told: a volatile message, never an entry of the parent. */
export interface SubagentResult {
  childSessionKey: string;
  message: UserMessage;
}

export interface SubagentPort {
  /** 0 for a session that is nobody's child. */
  depthOf(sessionKey: string): number;
  /** `spawn_agent` bound to a turn; undefined where its depth allows no child. It needs no permission of its own. */
  tool(parent: ParentTurn): (PluginTool & { readOnly: true }) | undefined;
  /**
   * Results that wait for a session, oldest first; each stays until `delivered`. Never rejects: what cannot be read
   * is named to `onFailure` and waits.
   */
  results(sessionKey: string, onFailure?: (reason: string) => void): Promise<SubagentResult[]>;
  /** Called when the parent's turn that saw them is committed. Never throws; what cannot be noted is given again. */
  delivered(childSessionKeys: readonly string[]): void;
  /**
   * Resolves when the next child that a turn of the session has started has ended; undefined where none runs. A
   * turn does not wait for those of library calls: their results enter it when they are there in time.
   */
  nextEnd(sessionKey: string): Promise<void> | undefined;
  /**
   * Ends children of a session and waits for them, for 15 seconds at most. `released`: those that its turn has
   * started; the turn ends without them. `renewed`: all its children, and results that wait are dropped; the engine
   * is told `released`. `deleted`: all below it, and the session itself where it is a child; results are dropped.
   */
  endChildren(sessionKey: string, reason: "released" | "renewed" | "deleted"): Promise<void>;
  /** Keys of all sessions below a session, the deepest first; to be deleted with it. */
  descendants(sessionKey: string): string[];
  /** Forgets what is recorded of a session and its descendants; called when they are deleted. */
  forget(sessionKey: string): void;
  /** The gate of the turn that has started a child, which pays for it; undefined for any other session. */
  costOf(sessionKey: string): CostGate | undefined;
  /** Resolves when all children that run now have ended. */
  idle(): Promise<void>;
  /** Children that have not ended, and those whose result waits. */
  facts(sessionKey: string): SubagentFact[];
  /** Library call outside a turn. Throws `subagent_limit`, `usage_invalid`, `engine_failed`, and what refuses a run. */
  spawn(request: SpawnRequest): Promise<SpawnedAgent>;
  /**
   * Ends children whose time is over, takes over those whose process died, and tells the engine what it was not told.
   * Never rejects. Runs by itself while children run here.
   */
  sweep(): Promise<void>;
  /** Releases what runs, within 15 seconds, and closes the registry. Call it before the engine is disposed of. */
  close(): Promise<void>;
}
