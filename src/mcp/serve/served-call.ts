/** What a harness hands in to have its turn's tools served, and what it is told of their calls. */
import type { ToolOutcome, ToolSet } from "../../contract/tool.ts";

/** A call that a harness's model has made, before it runs. */
export interface ServedCall {
  /**
   * With which the tool is called. Unless `onCall` answers another: what the client calls it, where it says so
   * (`_meta["claudecode/toolUseId"]`), else one that is unique in this process.
   */
  readonly id: string;
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  /** Of the JSON-RPC request; unique on its connection only. */
  readonly requestId: string | number;
  /** The request's `_meta`, as the client sent it. */
  readonly meta: Readonly<Record<string, unknown>>;
}

export interface ServeOptions {
  /**
   * The set of the turn that runs; asked at each request, so that one server lives for many turns. Undefined between
   * turns: a call is then answered with an error that the model can read, and the last known tools go on being listed.
   */
  tools: () => ToolSet | undefined;
  /** What the server calls itself; clients take tool names from the name under which *they* configure it. Default `pagurus`. */
  name?: string | undefined;
  /** Ends it, as `close` does. */
  signal?: AbortSignal | undefined;
  /**
   * Told of each call before the tool runs, for a mirror that pairs it with the call of the runtime's own stream. May
   * answer the id that the tool is to be called with; the call waits for the answer, so it must come soon. A throw is
   * taken as no answer. Not told of calls between turns.
   */
  onCall?: ((call: ServedCall) => string | undefined | Promise<string | undefined>) | undefined;
  /** Told of the outcome, under the id that the tool was called with, before the client gets it. A throw is ignored. */
  onOutcome?: ((call: ServedCall, outcome: ToolOutcome) => void | Promise<void>) | undefined;
}
