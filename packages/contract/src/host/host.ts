/** The host as a library: `createPagurus()` returns one; the command line is a client of it. */
import type { ClaimRequest, SessionClaim } from "../session/claim.ts";
import type { ContextEngineFactory } from "../engine/engine.ts";
import type { AgentHarness } from "../harness/harness.ts";
import type { AgentMessage } from "../message.ts";
import type { NativeThreads } from "../harness/native.ts";
import type { FileRewind, FileRewindRequest } from "./checkpoints.ts";
import type { CompactionReport, MaintenanceReport } from "./reports.ts";
import type { RunningTurns } from "./running.ts";
import type { PluginCommand, PluginRegister, PluginReports } from "./plugin.ts";
import type { Receipt } from "../session/receipt.ts";
import type { Runtimes } from "../harness/runtimes.ts";
import type { AskPermission, RunRequest, SpawnedAgent, SpawnRequest, TurnRun } from "./run.ts";
import type { CustomCommands, SkillReport } from "./skill.ts";
import type { StatusReport, StatusRequest } from "./status.ts";
import type { SessionStore } from "../session/store.ts";
import type { SessionRecord } from "../session/writer.ts";

export interface PagurusOptions {
  /** Default: `PAGURUS_HOME`, else `~/.pagurus`. */
  home?: string;
  /** Configuration instead of the file's. `onlyLook`: a broken file is a warning. `trustFolders`: as `--trust`, for all turns. */
  config?: unknown;
  onlyLook?: boolean;
  trustFolders?: boolean;
  /** Engines, harnesses and plugins of the caller, registered as if installed. */
  engines?: Record<string, ContextEngineFactory>;
  harnesses?: AgentHarness[];
  plugins?: Record<string, PluginRegister>;
  /** Default: `process.env`. `askPermission` is called when a tool needs permission in mode `ask`; absent means deny. */
  env?: Record<string, string | undefined>;
  askPermission?: AskPermission;
}

export interface ContextPreview {
  system: string;
  messages: AgentMessage[];
  receipt: Receipt;
  /** Exact count with `o200k_base`, where requested and the optional `gpt-tokenizer` is installed. */
  exactTokens?: number;
}

interface Place {
  sessionKey?: string;
  agentId?: string;
  cwd?: string;
}

export interface Pagurus {
  /** Starts a turn. Never throws: a refusal or failure is the event `turn.failed`. */
  run(request: RunRequest): TurnRun;
  /** Refuses an input that is too long for every model that may answer it. Throws `live_turn_too_large`, `config_invalid`. */
  checkInput(
    request: Pick<RunRequest, "agentId" | "model" | "prompt" | "parts" | "additionalContext">,
  ): Promise<void>;
  /** Sessions of an agent (default `main`). */
  sessions(agentId?: string): SessionStore;
  context: {
    /** The context that would be assembled now; nothing is sent or stored. */
    preview(request: {
      sessionKey?: string;
      agentId?: string;
      prompt: string;
      budget?: number;
      cwd?: string;
      /** As of a run. */
      audience?: "group" | "strangers";
      /** Also count the tokens exactly; slow on large contexts. */
      exact?: boolean;
    }): Promise<ContextPreview>;
    /**
     * The passages out of sight that the engine would add for a prompt now, as it words them; empty for none. Nothing is sent or stored, and
     * the rest of the context is not made.
     */
    recall(request: { sessionKey?: string; agentId?: string; prompt: string; cwd?: string }): Promise<string>;
    /** Receipts of a turn (default: the newest), oldest request first. */
    receipts(
      request: Pick<ClaimRequest, "sessionKey" | "agentId" | "cwd"> & { turnId?: string },
    ): Promise<Receipt[]>;
  };
  /** Claims a conversation for a live program until it is released. Throws `session_locked`, `session_key_invalid`. */
  claim(request?: ClaimRequest): Promise<SessionClaim>;
  /**
   * The key of a request without one: the folder's last conversation, or the key that its first one would get. Throws
   * `config_invalid` for an agent that is not configured.
   */
  sessionKey(request?: Omit<ClaimRequest, "how">): string;
  /**
   * The queued lane: `/compact [focus]`. An engine that fails or declines is a report with the reason. Throws
   * `session_not_found`, `session_locked`, `host_requirement`, `turn_aborted`.
   */
  compact(request: Place & { focus?: string; signal?: AbortSignal }): Promise<CompactionReport>;
  /**
   * Runs the engine's background work (`maintain`) now, without a turn, until it is done or the signal aborts. Throws
   * `session_not_found`, and what refuses a run.
   */
  maintain(request: Place & { signal?: AbortSignal }): Promise<MaintenanceReport>;
  /** The registered runtimes, and which one a model runs in. */
  readonly runtimes: Runtimes;
  /** Threads that runtimes keep by themselves. */
  readonly native: NativeThreads;
  /** Steers or stops a turn that another caller has started. */
  readonly running: RunningTurns;
  /** Commands of plugins, in the order of registration; a channel's own of the same name takes precedence. Never throws. */
  commands(): Omit<PluginCommand, "run">[];
  /** Runs one of them and returns its text. Throws `usage_invalid` for an unknown name, and any error of the command. */
  command(request: {
    name: string;
    args?: string;
    sessionKey?: string;
    agentId?: string;
    cwd?: string;
    signal?: AbortSignal;
  }): Promise<string>;
  readonly plugins: PluginReports;
  /** The skills that a turn in this folder would offer, and those it would not. A broken one is reported, never an error. */
  skills(request?: { agentId?: string; cwd?: string }): Promise<SkillReport>;
  readonly customCommands: CustomCommands;
  /** Brings files, not the conversation, back to before a turn. Throws `entry_not_found`, `store_*`. */
  rewindFiles(request: FileRewindRequest): Promise<FileRewind>;
  /** `/new`, `/reset`: a new generation under the key. Throws `session_locked` while a turn runs in it. */
  renew(request: {
    sessionKey?: string;
    agentId?: string;
    reason: "new" | "reset";
    cwd?: string;
  }): Promise<SessionRecord>;
  /**
   * Starts a child session; `spawn_agent` is the same for a model. The result also enters the parent's live (else next) turn.
   * Throws `subagent_limit`, and what refuses a run.
   */
  spawn(request: SpawnRequest): Promise<SpawnedAgent>;
  /**
   * Deletes sessions permanently: every generation of the key and its children, from every place that has their words. `isResumed`: an
   * earlier deletion was interrupted, and is finished now. Throws `session_not_found`, `session_locked`, `store_write_failed`.
   */
  deleteSession(request: {
    sessionKey: string;
    agentId?: string;
  }): Promise<{ sessions: number; bytes: number; isResumed?: true }>;
  /**
   * Reloads configuration and plugins when running turns have ended; engines are disposed of and created again. New work waits for it,
   * and with `whenIdle` runs as before until a moment at which nothing runs. Throws `config_invalid`; then everything stays as it was.
   */
  reload(options?: { whenIdle?: boolean }): Promise<void>;
  /** Never throws for a model, runtime or engine that cannot be used: each is one of the report's problems. */
  status(request?: StatusRequest): Promise<StatusReport>;
  /** Aborts running turns, waits at most 15 seconds for them, and ends. Later calls are refused with `usage_invalid`. */
  close(): Promise<void>;
}
