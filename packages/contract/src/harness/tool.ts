/** Tools of the host, as a runtime sees them. */
import type { ImagePart, TextPart, ToolCallPart } from "../message.ts";

/** JSON Schema (draft 2020-12) of a tool's arguments; the top level is an object. */
export type JsonSchema = { [key: string]: unknown };

export interface ToolSpec {
  name: string;
  description: string;
  parameters: JsonSchema;
}

export interface ToolOutcome {
  content: (TextPart | ImagePart)[];
  isError: boolean;
  /** Facts for display (exit code, bytes, lines); never sent to a model. */
  details?: Record<string, unknown>;
}

/** The tools of a harness: the catalog, its fingerprint, and one way to call. */
export interface ToolSet {
  readonly specs: readonly ToolSpec[];
  /** Hash of the catalog alone, never of engine output. Source: harness port, "Migration / compatibility". */
  readonly fingerprint: string;
  /** Runs hooks, permission and the tool. Never throws: a failure is an outcome with `isError`. */
  call(call: ToolCallPart, signal: AbortSignal): Promise<ToolOutcome>;
  /**
   * Runs hooks and permission for a call that the runtime executes itself, as if the host's tool of that name were called.
   * Returns why it must not run, or undefined. A hook that would rewrite the call refuses it. Never throws.
   */
  permits(call: ToolCallPart, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Called when a request of a conversation that has used tools is sent, and while a call of the model arrives, whose name and arguments need not be
   * complete: the host starts work that calls are likely to need, while the model works. A runtime that sees neither leaves it out, and
   * the work starts with the call. Never throws.
   */
  expect?(): void;
}

/** (+) Name of the tool with which a model reads an entry of the session in full, where the engine offers one. */
export const ENTRY_TOOL = "context_expand";
