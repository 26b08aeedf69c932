/** Middleware around the host's own tools, which plugins register with `registerToolMiddleware`. */
import type { ToolOutcome } from "../harness/tool.ts";

/** A call that is about to run: its arguments are checked, `before_tool_call` and the permission have let it through. */
export interface SurroundedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** A copy: changes have no effect. The hook `before_tool_call` changes arguments, before the permission. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly sessionKey: string;
  readonly sessionId: string;
  readonly agentId: string;
  readonly turnId: string;
  /** Id of the runtime whose model made the call. */
  readonly runtime: string;
  readonly cwd: string;
  /** Aborted with the turn. */
  readonly signal: AbortSignal;
}

/** Runs the inner middlewares and the tool, at most once: a second call returns the same outcome. Never throws. */
export type NextCall = () => Promise<ToolOutcome>;

/**
 * Called for each call of a host tool, in every runtime that the host's tools reach. A failure of the tool is an outcome with `isError`.
 * The answer replaces the outcome; no answer keeps that of `next`. An answer without `next` is used in place of the tool's, and the tool
 * is not run. May throw: after `next` its outcome is kept with a warning, before it the call fails closed; deadline 15 s without the time
 * of `next`.
 */
export type ToolMiddleware = (
  call: SurroundedCall,
  next: NextCall,
) => Promise<ToolOutcome | void> | ToolOutcome | void;

export interface ToolMiddlewareOptions {
  /** Names of the tools, where `*` matches any characters. Absent: all. */
  tools?: readonly string[];
}

/** The part of a plugin's api for middleware. */
export interface MiddlewareApi {
  /**
   * Runs code around calls of the host's tools, plugins' tools included; the first registered is the outermost. Throws `engine_contract`
   * for a value that is no function, and for names of tools that are no list of texts.
   */
  registerToolMiddleware(middleware: ToolMiddleware, options?: ToolMiddlewareOptions): void;
}
