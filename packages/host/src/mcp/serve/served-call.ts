/** Options of served tools: what a harness passes in, and the callbacks for its calls. */
import type { ToolOutcome, ToolSet } from "@pagurus/contract/harness/tool";

/** A call by a harness's model, before it runs. */
export interface ServedCall {
  /**
   * Id that the tool is called with, unless `onCall` returns another: the client's own id where it sends one
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
   * Tools of the running turn, read at each request, so that one server lives for many turns. Undefined between turns: a call
   * then fails with an error that the model can read, and the last known tools are still listed.
   */
  tools: () => ToolSet | undefined;
  /** Name of the server itself; clients take tool names from the name under which *they* configure it. Default `pagurus`. */
  name?: string | undefined;
  /** Ends it, as `close` does. */
  signal?: AbortSignal | undefined;
  /**
   * Called for each call before the tool runs, for a mirror that pairs it with the call in the runtime's own stream. May
   * return the id that the tool is called with; the call waits for it, so return soon. A throw counts as no id. Not called
   * between turns.
   */
  onCall?: ((call: ServedCall) => string | undefined | Promise<string | undefined>) | undefined;
  /** Called with the outcome, under the id that the tool was called with, before the client gets it. A throw is ignored. */
  onOutcome?: ((call: ServedCall, outcome: ToolOutcome) => void | Promise<void>) | undefined;
}
