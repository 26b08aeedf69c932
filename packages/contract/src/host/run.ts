/** Request for one turn, and the handle of a running one. */
import type { TurnEvent } from "./events.ts";
import type { AdditionalContext } from "../fragment.ts";
import type { JsonSchema } from "../harness/tool.ts";
import type { PermissionMode } from "./permission-modes.ts";
import type { PluginTool } from "./plugin.ts";

export interface PermissionQuestion {
  toolName: string;
  /** What would happen, readable for a person: a command line, a path. */
  summary: string;
  /** What would change, in a few lines: the text of a new file, a small diff, the whole command. */
  preview?: string;
  /** The rule that the answer `always` would save, as text. */
  rule?: string;
  /** Text of the wider rule that the answer `similar` would save, for further calls like this one. Absent if none is offered. */
  similar?: string;
  /**
   * Values that an MCP server asks the person for, as a JSON Schema of an object with plain values. Answered with `{ content }`, or
   * `once` for the defaults; nothing is saved.
   */
  form?: JsonSchema;
  /** The yes of a question that `once` does not answer, such as whether a cost limit is raised: its label, and the values. */
  accept?: { label: string; content: Record<string, unknown> };
  /** The asking session, which may be a subagent's; absent only outside a host's turn. */
  sessionKey?: string;
  /** The waiting call, as the turn's events name it. */
  toolCallId?: string;
  cwd: string;
  signal: AbortSignal;
}
/**
 * `always` saves the question's `rule`, `similar` its `similar`. `unasked`: no, as no person can be asked, or none answered. `{ deny }`:
 * no, with the person's text as the reason. `{ content }`: values for the question's `form`; it allows nothing else.
 */
export type PermissionAnswer =
  | "once"
  | "always"
  | "similar"
  | "deny"
  | "unasked"
  | { deny: string }
  | { content: Record<string, unknown> };
export type AskPermission = (question: PermissionQuestion) => Promise<PermissionAnswer>;

/** `source` marks data that the person did not write, and names its origin: see `TextPart`. */
export type InputPart =
  | { type: "text"; text: string; source?: string }
  | { type: "image"; data: string; mimeType: string };

/** Tools of the caller that may differ from turn to turn, such as those of an editor's MCP servers. */
export interface CallerTools {
  /**
   * Called at the start of each turn, which waits for it; must return soon. `problems`: a sentence for each missing thing. A
   * tool whose name is taken is skipped. Never throws.
   */
  forTurn(signal: AbortSignal): Promise<{
    /** `source`: owner of the tool, for the permission question. */
    tools: readonly (PluginTool & { source?: string })[];
    problems: readonly string[];
  }>;
}

export interface RunRequest {
  prompt: string;
  /** Further parts of the input after the prompt. */
  parts?: InputPart[];
  /** Default: the last conversation of the folder's workspace, or a new one of it if that is in use. */
  sessionKey?: string;
  /** Default `main`. */
  agentId?: string;
  /** Model ref for this run. */
  model?: string;
  /** Runtime id for this run; fails closed, never stored. */
  runtime?: string;
  cwd?: string;
  permission?: PermissionMode;
  /**
   * Who else reads the answers; absent: the owner alone. `group`: people whom the owner has approved, or members of a group; the turn
   * uses no memory notes, and recall finds nothing of other sessions. `strangers`: as `group`, for input of people whom the owner
   * has not approved; besides the engine's tools the turn has none.
   */
  audience?: "group" | "strangers";
  /** Reasoning effort of this run, where the model supports it; default: the configuration's. */
  thinking?: "off" | "low" | "medium" | "high";
  /** Tools besides the host's own; not for subagents. A list, or an object that lists them at the start of each turn. */
  tools?: readonly PluginTool[] | CallerTools;
  heartbeat?: boolean;
  /**
   * Id of the turn, from a caller that records its work before it runs. A turn that a crash cut off is continued under its id, where
   * the runtime can; one that is recorded is refused with `turn_exists`.
   */
  turnId?: string;
  /**
   * Hidden context before the input, as a complete set: new values are shown to the model, missing keys are dropped. Absent,
   * null and {} drop all.
   */
  additionalContext?: AdditionalContext | null;
  /** Cost limit of the turn, US dollars; a request that would exceed it is not sent (`cost_limit`). */
  maxCost?: number;
  /** The caller does not wait long: a model is retried for 300 s, not 1,800; `agents.defaults.retry` overrides both. */
  oneShot?: boolean;
  signal?: AbortSignal;
}

/**
 * A running turn: its events, steering and abort. The events can be iterated over once; a second iterator throws
 * `usage_invalid`. A run without an iterator still runs to its end.
 */
export interface TurnRun extends AsyncIterable<TurnEvent> {
  /**
   * Adds input to the turn before its next model call. False when the turn has ended. Its `additionalContext` replaces the
   * turn's, as a complete set; left out, it drops all. Throws `usage_invalid` when the text is empty; then nothing is taken.
   */
  steer(text: string, options?: SteerOptions): boolean;
  /** Takes back an input of `steer`; false when the turn has taken it. A promise for a turn of a server. Never throws or rejects. */
  takeBack?(text: string): boolean | Promise<boolean>;
  /** Asks the turn to end; its last event still follows. Ignored once it has ended. Never throws. */
  abort(): void;
}

export interface SteerOptions {
  additionalContext?: AdditionalContext | null;
}

export interface SpawnRequest {
  /** The task, as the child's input. */
  task: string;
  /** Session that gets the result; default: the folder's last conversation. */
  parentSessionKey?: string;
  agentId?: string;
  /** `isolated` (default): an empty history; `fork`: the parent's path so far. */
  contextMode?: "isolated" | "fork";
  model?: string;
  cwd?: string;
  permission?: RunRequest["permission"];
  /** Lifetime limit of the child, ms; default `agents.defaults.subagents.ttlSeconds`. */
  ttlMs?: number;
  signal?: AbortSignal;
}

/** A running child session. */
export interface SpawnedAgent {
  readonly childSessionKey: string;
  readonly childSessionId: string;
  /** Resolves when the child has ended; never rejects. `text` is the child's last answer. */
  readonly ended: Promise<{ outcome: "completed" | "failed" | "aborted"; text: string; code?: string }>;
  /** Ends the child; the engine gets the reason `released`. A child that misses the deadline of 10 s is given up. */
  release(): Promise<void>;
}
