/** What a plugin's `register(api)` gets. Source: the design's "The contract", plugin entry. */
import type { ContextEngineFactory } from "./engine.ts";
import type { AgentHarness } from "./harness.ts";
import type { HookHandler, HookName } from "./hooks.ts";
import type { MemoryFactory } from "./memory.ts";
import type { LlmComplete } from "./model.ts";
import type { ToolOutcome, ToolSpec } from "./tool.ts";
import type { TranscriptCursor } from "./transcript.ts";

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

/** Where a command was said. */
export interface PluginCommandContext {
  sessionKey: string;
  /** Absent while the key has no session. */
  sessionId?: string;
  agentId: string;
  cwd: string;
  /** The session's path; empty where there is no session. */
  transcript: TranscriptCursor;
  signal: AbortSignal;
}
/** What a user can say in every channel: `/name arguments`. The host's own commands go before it. */
export interface PluginCommand {
  /** Without the slash: lower case letters, digits and "-". */
  name: string;
  /** Arguments as `/help` shows them; empty where it takes none. */
  usage: string;
  /** One line for `/help`. */
  summary: string;
  /** Answers with plain text. May throw: the channel shows the message. Deadline 60 s. */
  run(args: string, context: PluginCommandContext): Promise<string>;
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
  registerCommand(command: PluginCommand): void;
  on<K extends HookName>(hook: K, handler: HookHandler<K>): void;
  readonly runtime: { llm: { complete: LlmComplete } };
}
export type PluginRegister = (api: PluginApi) => void | Promise<void>;
