/**
 * Interface that decides on the requests of a route, implemented for turns that drive the harness and for turns that follow the
 * user's own program.
 */
import type { AssembledContext } from "@pagurus/contract/harness/harness";
import type { AgentMessage } from "@pagurus/contract/message";
import type { WireAnswer, WireRequest } from "../dialect/wire-dialect.ts";
import type { Upstream } from "../upstream/upstream.ts";

export interface Governed {
  /** History and live turn for the model; the system prompt stays the harness's own. */
  context: Pick<
    AssembledContext,
    "messages" | "historyCount" | "systemPromptAddition" | "previousResponseId"
  >;
  /**
   * Whether the engine left the message as the transcript has it, so that the harness's own bytes of it may be kept although they do
   * not match exactly.
   */
  isOriginal(message: AgentMessage): boolean;
  /** Whether the transcript has no result of the turn's call yet: then the harness's own bytes are its result. */
  isOpen?(callId: string): boolean;
  /** Where the live turn began, for requests that count only the newest user text as the live turn. */
  liveFrom?: number;
}

export interface GovernorCall {
  /** Number of the request on its route, from 0. */
  readonly request: number;
  readonly signal: AbortSignal;
}

/** Owner of a request, as far as known; for captures. */
export interface RequestOwner {
  agentId?: string | undefined;
  /** If it is not the route's. */
  sessionKey?: string;
  sessionId?: string;
  turnId?: string;
}

export interface Governor {
  /**
   * All requests pass unchanged, in no order, and their answers unread: only `owner` and `upstream` are called, and `upstream` before the
   * request was read, so that it must not depend on it.
   */
  readonly passes?: true;
  /** Called when a request comes in. Never throws. */
  owner?(request: WireRequest | undefined): RequestOwner;
  /**
   * Returns the context that replaces the request's older messages; undefined: the request passes unchanged. `overflow`: the
   * provider has just rejected the context returned before. Also called for a compaction that the engine does not answer: then
   * nothing of the request is new, and the compaction prompt is not part of it. Throws what `assemble` throws.
   */
  main(
    request: WireRequest,
    call: GovernorCall & { overflow?: { message: string } },
  ): Promise<Governed | undefined>;
  /** The engine's summary for the harness's own compaction; undefined: the request passes upstream. Never throws. */
  compaction(request: WireRequest, call: GovernorCall): Promise<{ summary: string } | undefined>;
  /** Where the request is answered. Throws `credential_missing`, `config_invalid`, `model_unknown`. */
  upstream(request: WireRequest | undefined): Upstream;
  /** The context window of the request's model, tokens; undefined (or no method): not known. Never throws. */
  windowOf?(request: WireRequest): number | undefined;
  /** Called when a main request is sent. */
  sent(request: WireRequest, call: GovernorCall): void;
  /** Called with the answer; `isAborted`: the harness disconnected. The harness's next request waits for it. */
  answered(
    request: WireRequest,
    answer: WireAnswer,
    how: GovernorCall & { isAborted: boolean },
  ): void | Promise<void>;
  /** Called when upstream answered the harness's own compaction. Never throws. */
  compacted?(request: WireRequest, answer: WireAnswer): void | Promise<void>;
}
