/** The host as a library: `createPagurus()` returns one; the command line is a client of it. */
import type { ContextEngineFactory } from "./engine.ts";
import type { Degradation } from "./events.ts";
import type { AgentHarness } from "./harness.ts";
import type { AgentMessage } from "./message.ts";
import type { NativeThreads } from "./native.ts";
import type { RunningTurns } from "./running.ts";
import type { PluginCommand, PluginRegister } from "./plugin.ts";
import type { Receipt } from "./receipt.ts";
import type { Runtimes } from "./runtimes.ts";
import type { AskPermission, RunRequest, SpawnedAgent, SpawnRequest, TurnRun } from "./run.ts";
import type { CustomCommands, SkillReport } from "./skill.ts";
import type { StatusReport } from "./status.ts";
import type { SessionStore } from "./store.ts";
import type { SessionRecord } from "./writer.ts";
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
export interface ContextPreview {
    system: string;
    messages: AgentMessage[];
    receipt: Receipt;
    /** Counted with `o200k_base`, where asked for and the optional `gpt-tokenizer` is installed. */
    exactTokens?: number;
}
/** What `/compact` has done. Tokens are estimates. */
export interface CompactionReport {
    compacted: boolean;
    /** What the runtime did with its own thread besides, as `<runtime>NativeCompaction: {compacted, reason?}`. */
    details?: Record<string, unknown>;
    /** Why not. */
    reason?: string;
    tokensBefore?: number;
    tokensAfter?: number;
    /** What went wrong on the way, such as a model that failed, so that the summary is an extract. */
    degraded: Degradation[];
}
/** What the engine's work for a session has come to. */
export interface MaintenanceReport {
    /** False where the engine has no such work, or it failed. */
    done: boolean;
    /** What the engine says it did, or why not. */
    reason?: string;
    degraded: Degradation[];
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
        receipts(request: {
            sessionKey?: string;
            agentId?: string;
            turnId?: string;
        }): Promise<Receipt[]>;
    };
    /** The queued lane: `/compact [focus]`. */
    compact(request: {
        sessionKey?: string;
        agentId?: string;
        focus?: string;
        cwd?: string;
        signal?: AbortSignal;
    }): Promise<CompactionReport>;
    /**
     * What the engine does behind a turn (`maintain`), now and without a turn, until it is done or the signal fires.
     * Throws `session_not_found`, and what refuses a run.
     */
    maintain(request: {
        sessionKey?: string;
        agentId?: string;
        cwd?: string;
        signal?: AbortSignal;
    }): Promise<MaintenanceReport>;
    /** Which runtimes there are, and which one a model runs in. */
    readonly runtimes: Runtimes;
    /** Threads that runtimes keep by themselves. */
    readonly native: NativeThreads;
    /** Reaches into a turn that somebody else has started. */
    readonly running: RunningTurns;
    /** Commands of plugins, in the order of registration; a channel's own of the same name go before them. */
    commands(): Omit<PluginCommand, "run">[];
    /** Runs one of them and answers its text. Throws `usage_invalid` for an unknown name, and what the command throws. */
    command(request: {
        name: string;
        args?: string;
        sessionKey?: string;
        agentId?: string;
        cwd?: string;
        signal?: AbortSignal;
    }): Promise<string>;
    /** What a turn in this folder would be told of skills, and which ones it would not. */
    skills(request?: {
        agentId?: string;
        cwd?: string;
    }): Promise<SkillReport>;
    readonly customCommands: CustomCommands;
    /** `/new`, `/reset`: a new generation under the key. Throws `session_locked` while a turn runs in it. */
    renew(request: {
        sessionKey?: string;
        agentId?: string;
        reason: "new" | "reset";
        cwd?: string;
    }): Promise<SessionRecord>;
    /**
     * Starts a child session; `spawn_agent` is the same for a model. The result also enters the parent's live (else
     * next) turn. Throws `subagent_limit`, and what refuses a run.
     */
    spawn(request: SpawnRequest): Promise<SpawnedAgent>;
    /** Ends sessions for good: every generation of the key and its children. */
    deleteSession(request: {
        sessionKey: string;
        agentId?: string;
    }): Promise<{
        sessions: number;
        bytes: number;
    }>;
    /** Reads configuration and plugins again when what runs has ended; engines are disposed of and made anew. */
    reload(): Promise<void>;
    /** A model, runtime or engine that cannot be used is one of the report's problems and nothing is thrown. */
    status(request?: {
        sessionKey?: string;
        agentId?: string;
        cwd?: string;
    }): Promise<StatusReport>;
    /** Aborts what runs, waits 15 seconds for it at most, and ends. Later calls are refused with `usage_invalid`. */
    close(): Promise<void>;
}
