/** Who decides on the requests of a route: the turn of a host that drives the harness, or one that follows a user's own. */
import type { AssembledContext } from "../../contract/harness.ts";
import type { AgentMessage } from "../../contract/message.ts";
import type { WireAnswer, WireRequest } from "./dialect/dialect.ts";
import type { Upstream } from "./upstream/upstream.ts";

export interface Governed {
  /** History and live turn as the model is to see them; the system prompt stays the harness's own. */
  context: Pick<AssembledContext, "messages" | "historyCount" | "systemPromptAddition">;
  /**
   * The engine left the message as the transcript has it, so that the harness's own bytes of it may stand although they are
   * not word for word the same.
   */
  isOriginal(message: AgentMessage): boolean;
  /** Where the live turn was seen to begin, for requests that take only its newest words for it. */
  liveFrom?: number;
}

export interface GovernorCall {
  /** Number of the request on its route, from 0. */
  readonly request: number;
  readonly signal: AbortSignal;
}

/** Whose a request is, as far as it is known; for captures. */
export interface RequestOwner {
  agentId?: string | undefined;
  /** Where it is not the route's. */
  sessionKey?: string;
  sessionId?: string;
  turnId?: string;
}

export interface Governor {
  /** All requests pass as they are, in no order, and their answers unread: of the methods only `owner` and `upstream` are asked. */
  readonly passes?: true;
  /** Asked when a request comes in. Never throws. */
  owner?(request: WireRequest | undefined): RequestOwner;
  /**
   * What the model sees in the place of the request's older messages; undefined: the request passes as it is. `overflow`: the
   * provider has just refused what was answered before. Asked for a compaction, too, that the engine does not answer: then
   * nothing of the request is new, and what asks for the compaction is left out of it. Throws what `assemble` throws.
   */
  main(
    request: WireRequest,
    call: GovernorCall & { overflow?: { message: string } },
  ): Promise<Governed | undefined>;
  /** The engine's summary for the harness's own compaction; undefined: it passes upstream. Never throws. */
  compaction(request: WireRequest, call: GovernorCall): Promise<{ summary: string } | undefined>;
  /** Where the request is answered. Throws `credential_missing`, `config_invalid`, `model_unknown`. */
  upstream(request: WireRequest | undefined): Upstream;
  /** A main request goes out. */
  sent(request: WireRequest, call: GovernorCall): void;
  /** What came back; `isAborted`: the harness left. The harness's next request waits for it. */
  answered(
    request: WireRequest,
    answer: WireAnswer,
    how: GovernorCall & { isAborted: boolean },
  ): void | Promise<void>;
  /** The harness's own compaction was answered upstream. Never throws. */
  compacted?(request: WireRequest, answer: WireAnswer): void | Promise<void>;
}
