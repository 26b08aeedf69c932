/** What a plugin's `register(api)` gets. Source: the design's "The contract", plugin entry. */
import type { ContextEngineFactory } from "./engine.ts";
import type { AgentHarness } from "./harness.ts";
import type { HookHandler, HookName } from "./hooks.ts";
import type { MemoryFactory } from "./memory.ts";
import type { LlmComplete } from "./model.ts";
import type { ToolOutcome, ToolSpec } from "./tool.ts";
export interface PluginLogger {
    debug(message: string, fields?: Record<string, unknown>): void;
    info(message: string, fields?: Record<string, unknown>): void;
    warn(message: string, fields?: Record<string, unknown>): void;
    error(message: string, fields?: Record<string, unknown>): void;
}
export interface ToolContext {
    sessionKey: string;
    sessionId: string;
    cwd: string;
    signal: AbortSignal;
}
export interface PluginTool extends ToolSpec {
    execute(params: Record<string, unknown>, context: ToolContext): Promise<ToolOutcome>;
}
export interface PluginApi {
    readonly id: string;
    readonly config: unknown;
    readonly pluginConfig: unknown;
    readonly logger: PluginLogger;
    resolvePath(path: string): string;
    /** Registering an id twice throws `plugin_duplicate_id`. */
    registerContextEngine(id: string, factory: ContextEngineFactory): void;
    registerAgentHarness(harness: AgentHarness): void;
    registerMemory(id: string, factory: MemoryFactory): void;
    registerTool(tool: PluginTool): void;
    on<K extends HookName>(hook: K, handler: HookHandler<K>): void;
    readonly runtime: {
        llm: {
            complete: LlmComplete;
        };
    };
}
export type PluginRegister = (api: PluginApi) => void | Promise<void>;
