/** The API object passed to a plugin's `register(api)`. Source: the design's "The contract", plugin entry. */
import type { DeliveryHooks } from "./delivery.ts";
import type { ContextEngineFactory } from "../engine/engine.ts";
import type { AgentHarness } from "../harness/harness.ts";
import type { ProgramWrap } from "../harness/wrap.ts";
import type { ChannelFactory, ChannelKind } from "../channel/channel-kind.ts";
import type { HookHandler, HookName } from "./hooks.ts";
import type { MemoryFactory } from "../engine/memory.ts";
import type { MiddlewareApi } from "./tool-middleware.ts";
import type { LlmComplete } from "../model.ts";
import type { ToolOutcome, ToolSpec } from "../harness/tool.ts";
import type { SharedSearch } from "../session/shared-records.ts";
import type { TranscriptCursor } from "../session/transcript.ts";
export interface PluginLogger {
    /** Written only at the log level `debug`. Never throws. */
    debug(message: string, fields?: Record<string, unknown>): void;
    /** Written at the default log level. Never throws. */
    info(message: string, fields?: Record<string, unknown>): void;
    /** For something that failed or was skipped while the plugin continues. Never throws. */
    warn(message: string, fields?: Record<string, unknown>): void;
    /** For a failure that the plugin cannot work around. Never throws. */
    error(message: string, fields?: Record<string, unknown>): void;
}
export interface ToolContext {
    sessionKey: string;
    sessionId: string;
    cwd: string;
    /** Keys of the folder's sessions, the last used first; this one's among them, which may have older conversations. Absent where a tool may use nothing of other sessions. */
    folderSessions?(): readonly string[];
    /** Offered with `folderSessions` where several hosts share their sessions. */
    sharedSearch?: SharedSearch;
    signal: AbortSignal;
}
export interface PluginTool extends ToolSpec {
    /** Read-only tool: runs without permission in every mode. */
    readOnly?: boolean;
    /** Runs one call. May throw: the model gets the message as a failed result. No deadline but the context's signal. */
    execute(params: Record<string, unknown>, context: ToolContext): Promise<ToolOutcome>;
}
/** Session in which a command was sent. */
export interface PluginCommandContext {
    sessionKey: string;
    /** Absent while the key has no session. */
    sessionId?: string;
    agentId: string;
    cwd: string;
    /** The session's path; empty if there is no session. */
    transcript: TranscriptCursor;
    /**
     * Appends an entry of the selected engine to the session's log, as the member of the runtime context. Absent if there is no session.
     * Throws `session_locked` while a turn of the session runs, `store_write_failed`.
     */
    remember?(data: unknown): string;
    signal: AbortSignal;
}
/** Slash command that works in every channel: `/name arguments`. The host's own commands take precedence. */
export interface PluginCommand {
    /** Without the slash: lower case letters, digits, "-", "_", and ":" between parts. */
    name: string;
    /** Further names of the same form. */
    aliases?: readonly string[];
    /** Arguments as `/help` shows them; empty if it takes none. */
    usage: string;
    /** One line for `/help`. */
    summary: string;
    /**
     * `session`: it reads and changes nothing outside of its session, so a caller that may not use every session may run it. Absent: only
     * others may.
     */
    reach?: "session";
    /** Answers with plain text. May throw: the channel shows the message. Deadline 60 s. */
    run(args: string, context: PluginCommandContext): Promise<string>;
}
/** Adds a plugin's own commands to `pagurus plugin <id>`. */
export type PluginCli = (context: {
    /** A `Command` of commander. */
    program: unknown;
    config: unknown;
    workspaceDir: string;
    logger: PluginLogger;
}) => void | Promise<void>;
/** A loaded or failed plugin, as `status` and `doctor` report it. Bundled plugins are left out. */
export interface PluginFact {
    id: string;
    /** Why it could not be loaded. */
    failure?: string;
    /** Set where no run starts without it; completes a sentence. */
    needed?: string;
    /** Registrations that nothing here uses, such as "HTTP route /x". */
    notUsed: readonly string[];
    /** Those of `notUsed` that could have blocked something. */
    idleGates: readonly string[];
    /** Unhandled errors of its code, newest last, at most 5; each one line. */
    errors: readonly string[];
}
/** Parts and reports of the loaded plugins. */
export interface PluginReports extends DeliveryHooks {
    /** The user's plugins that have something to report. Never throws. */
    facts(): readonly PluginFact[];
    /** Functions that add the plugin's commands to `pagurus plugin <id>`; empty if it has none or is not loaded. Never throws. */
    cli(id: string): readonly PluginCli[];
    /** Ids of the plugins that have such commands. Never throws. */
    withCli(): readonly string[];
    /** Programs that plugins add to `pagurus wire`. Never throws. */
    programs(): readonly ProgramWrap[];
    /** Kinds of channels that plugins add. Never throws. */
    channels(): readonly ChannelKind[];
}
export interface PluginApi extends MiddlewareApi {
    readonly id: string;
    readonly config: unknown;
    readonly pluginConfig: unknown;
    readonly logger: PluginLogger;
    /** Makes a path absolute; `~` is the user's home. It need not exist. Never throws. */
    resolvePath(path: string): string;
    /** Registering an id twice throws `plugin_duplicate_id`. */
    registerContextEngine(id: string, factory: ContextEngineFactory): void;
    /** Throws `plugin_duplicate_id` for a taken id or alias, `engine_contract` for an unknown contract or a missing member. */
    registerAgentHarness(harness: AgentHarness): void;
    /** Throws `plugin_duplicate_id`; `engine_contract` for a factory that is no function. */
    registerMemory(id: string, factory: MemoryFactory): void;
    /** Throws `plugin_duplicate_id`, also for a name of the host's own tools; `engine_contract` for an invalid name. */
    registerTool(tool: PluginTool): void;
    /** Throws `plugin_duplicate_id`; `engine_contract` for an invalid name. A taken or invalid alias is ignored. */
    registerCommand(command: PluginCommand): void;
    /**
     * Adds a program to `pagurus wire`. Throws `plugin_duplicate_id`, also for a bundled program's name; `engine_contract` for a wrap
     * without `survey`.
     */
    registerProgramWrap(wrap: ProgramWrap): void;
    /**
     * Adds a kind of channel, which `channels.<id>.kind` names. Throws `plugin_duplicate_id`, also for a bundled kind;
     * `engine_contract` for an invalid name or a factory that is no function.
     */
    registerChannel(kind: string, factory: ChannelFactory): void;
    /** Throws `engine_contract` for a value that is no function, and after `register` has ended. */
    registerCli(register: PluginCli): void;
    /** An unknown hook is ignored and listed in `notUsed`. Throws `engine_contract` for a handler that is no function. */
    on<K extends HookName>(hook: K, handler: HookHandler<K>): void;
    readonly runtime: {
        llm: {
            complete: LlmComplete;
        };
    };
}
export type PluginRegister = (api: PluginApi) => void | Promise<void>;
