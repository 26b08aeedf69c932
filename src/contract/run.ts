/** What a caller asks of the host for one turn, and the handle on a running one. */
import type { TurnEvent } from "./events.ts";
import type { AdditionalContext } from "./fragment.ts";
import type { PluginTool } from "./plugin.ts";

export interface PermissionQuestion {
  toolName: string;
  /** What would happen, for a person: a command line, a path. */
  summary: string;
  /** What would change, in a few lines: the text of a new file, a small diff, the whole command. */
  preview?: string;
  /** What the answer `always` would save, in words. */
  rule?: string;
  /** The session that asks, a subagent's own included; absent only where the asker is no turn of a host. */
  sessionKey?: string;
  /** The call that waits, as the turn's events name it. */
  toolCallId?: string;
  cwd: string;
  signal: AbortSignal;
}
export type AskPermission = (question: PermissionQuestion) => Promise<"once" | "always" | "deny">;

export type InputPart = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

/** Tools that the caller brings along, such as those of an editor's MCP servers. */
export interface CallerTools {
  /**
   * Asked at the start of each turn, which waits for it, so not for long. `problems`: a sentence for each thing that is
   * missing. A tool whose name is taken is left out. Never throws.
   */
  forTurn(signal: AbortSignal): Promise<{
    /** `source`: whose the tool is, for the question whether it may run. */
    tools: readonly (PluginTool & { source?: string })[];
    problems: readonly string[];
  }>;
}

export interface RunRequest {
  prompt: string;
  /** Further parts of the input after the prompt. */
  parts?: InputPart[];
  /** Default `main`. */
  sessionKey?: string;
  /** Default `main`. */
  agentId?: string;
  /** Model ref for this run. */
  model?: string;
  /** Runtime id for this run; fails closed, never stored. */
  runtime?: string;
  cwd?: string;
  permission?: "ask" | "deny" | "auto" | "read-only";
  /** How much the model should think in this run, where it can; default: the configuration's. */
  thinking?: "off" | "low" | "medium" | "high";
  /** Beside the host's own; not for subagents. */
  tools?: CallerTools;
  heartbeat?: boolean;
  /**
   * Hidden context that stands before the input, as a complete set: what it holds anew is shown to the model, what it
   * leaves out is forgotten. Absent, null and {} forget all.
   */
  additionalContext?: AdditionalContext | null;
  /** Most that the turn may cost, US dollars; a request that would exceed it is not sent (`cost_limit`). */
  maxCost?: number;
  signal?: AbortSignal;
}

/**
 * A running turn: its events, and ways to reach into it. The events can be iterated over once; a second iterator
 * throws `usage_invalid`. A run that nobody iterates over goes to its end.
 */
export interface TurnRun extends AsyncIterable<TurnEvent> {
  /**
   * Joins the turn before its next model call. False when the turn has ended. Its `additionalContext` takes the place
   * of the turn's, as a complete set; left out, it forgets all. Throws `usage_invalid` when the text is empty; then
   * nothing is taken.
   */
  steer(text: string, options?: SteerOptions): boolean;
  abort(): void;
}

export interface SteerOptions {
  additionalContext?: AdditionalContext | null;
}

export interface SpawnRequest {
  /** The task, as the child's input. */
  task: string;
  /** Session that gets the result; default `main`. */
  parentSessionKey?: string;
  agentId?: string;
  /** `isolated` (default): an empty history; `fork`: the parent's path so far. */
  contextMode?: "isolated" | "fork";
  model?: string;
  cwd?: string;
  permission?: RunRequest["permission"];
  /** How long the child may live, ms; default `agents.defaults.subagents.ttlSeconds`. */
  ttlMs?: number;
  signal?: AbortSignal;
}

/** A child session under way. */
export interface SpawnedAgent {
  readonly childSessionKey: string;
  readonly childSessionId: string;
  /** Resolves when the child has ended; never rejects. `text` is the child's last answer. */
  readonly ended: Promise<{ outcome: "completed" | "failed" | "aborted"; text: string; code?: string }>;
  /** Ends the child; the engine is told `released`. */
  release(): Promise<void>;
}
