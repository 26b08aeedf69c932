/** The host as a library: `createPagurus()` returns one; the command line is a client of it. */
import type { ContextEngineFactory } from "./engine.ts";
import type { Degradation, TurnEvent } from "./events.ts";
import type { AgentHarness } from "./harness.ts";
import type { AgentMessage } from "./message.ts";
import type { PluginRegister } from "./plugin.ts";
import type { Receipt } from "./receipt.ts";
import type { SessionRecord, SessionStore } from "./store.ts";

export interface PagurusOptions {
  /** Default: `PAGURUS_HOME`, else `~/.pagurus`. */
  home?: string;
  /** Configuration instead of the file's. */
  config?: unknown;
  /** Engines, harnesses and plugins of the caller, registered as if installed. */
  engines?: Record<string, ContextEngineFactory>;
  harnesses?: AgentHarness[];
  plugins?: Record<string, PluginRegister>;
  /** Default: `process.env`. */
  env?: Record<string, string | undefined>;
  /** Asked when a tool needs permission in mode `ask`; absent means deny. */
  askPermission?: AskPermission;
}

export interface PermissionQuestion {
  toolName: string;
  /** What would happen, for a person: a command line, a path. */
  summary: string;
  /** What would change, in a few lines: the text of a new file, a small diff, the whole command. */
  preview?: string;
  /** What the answer `always` would save, in words. */
  rule?: string;
  cwd: string;
  signal: AbortSignal;
}
export type AskPermission = (question: PermissionQuestion) => Promise<"once" | "always" | "deny">;

export type InputPart = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

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
  heartbeat?: boolean;
  signal?: AbortSignal;
}

/**
 * A running turn: its events, and ways to reach into it. The events can be iterated over once; a second iterator
 * throws `usage_invalid`. A run that nobody iterates over goes to its end.
 */
export interface TurnRun extends AsyncIterable<TurnEvent> {
  /** Joins the turn before its next model call. False when the turn has ended. */
  steer(text: string): boolean;
  abort(): void;
}

export interface StatusReport {
  home: string;
  configFile: string;
  configFound: boolean;
  configWarnings: string[];
  agentId: string;
  sessionKey: string;
  session?: SessionRecord;
  interruptedTurns: string[];
  /** Another process that is running a turn of the session. */
  runningIn?: { pid: number; since: string };
  /** Why a run would be refused now; empty when none of these stands in its way. */
  problems: { code: string; message: string }[];
  /** A window of 0 tokens stands for one that is not known: the ref names no usable model. */
  model: { ref: string; source: string; contextWindow: number };
  Execution: string;
  /** The id is `unavailable` where none can be chosen. */
  Runtime: { id: string; rule: string };
  engine: {
    selected: string;
    /** `unavailable` where the engine cannot be created; contract and lifecycle are `unknown` then. */
    effective: string;
    source: string;
    contract: string;
    lifecycle: "classic" | "durable" | "unknown";
  };
  /** Estimate of the next turn's context; a budget of 0 tokens stands for one that is not known. */
  context: { tokens: number; budget: number };
  compactions: number;
  /** Of the session's newest turns. */
  degraded: (Degradation & { timestamp: string })[];
  lastTurn?: { turnId: string; outcome: string; code?: string };
  permission: string;
  sandbox: string;
  cost?: number;
}

export interface ContextPreview {
  system: string;
  messages: AgentMessage[];
  receipt: Receipt;
  /** Counted with `o200k_base`, where asked for and the optional `gpt-tokenizer` is installed. */
  exactTokens?: number;
}

export interface Pagurus {
  run(request: RunRequest): TurnRun;
  /** Sessions of an agent (default `main`). */
  sessions(agentId?: string): SessionStore;
  context: {
    /** What would be assembled now; nothing is sent or stored. */
    preview(request: {
      sessionKey?: string;
      agentId?: string;
      prompt: string;
      budget?: number;
      cwd?: string;
      /** Also count the tokens exactly; slow on large contexts. */
      exact?: boolean;
    }): Promise<ContextPreview>;
    /** Receipts of a turn (default: the newest), oldest request first. */
    receipts(request: { sessionKey?: string; agentId?: string; turnId?: string }): Promise<Receipt[]>;
  };
  /** The queued lane: `/compact [focus]`. */
  compact(request: {
    sessionKey?: string;
    agentId?: string;
    focus?: string;
    cwd?: string;
    signal?: AbortSignal;
  }): Promise<{ compacted: boolean; reason?: string; tokensBefore?: number; tokensAfter?: number }>;
  /** `/new`, `/reset`: a new generation under the key. Throws `session_locked` while a turn runs in it. */
  renew(request: {
    sessionKey?: string;
    agentId?: string;
    reason: "new" | "reset";
    cwd?: string;
  }): Promise<SessionRecord>;
  /** A model, runtime or engine that cannot be used is one of the report's problems and nothing is thrown. */
  status(request?: { sessionKey?: string; agentId?: string; cwd?: string }): Promise<StatusReport>;
  /** Aborts what runs, waits 15 seconds for it at most, and ends. Later calls are refused with `usage_invalid`. */
  close(): Promise<void>;
}
