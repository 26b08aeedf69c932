/** Governs the requests of a harness that a turn of the host drives: the turn's own `assemble` returns the model's context. */
import { isDeepStrictEqual } from "node:util";
import { PagurusError } from "@pagurus/contract/errors";
import type { AgentMessage } from "@pagurus/contract/message";
import type { WireTurn } from "@pagurus/contract/harness/wire";
import type { resolveModel } from "@pagurus/core/model/resolve";
import type { WireAnswer, WireRequest } from "../dialect/wire-dialect.ts";
import { callsIn } from "../splice/call-ids.ts";
import { ownPartsOf } from "../request/own-parts.ts";
import { FixedPart } from "../request/fixed.ts";
import type { Governed, Governor, GovernorCall, RequestOwner } from "./governor.ts";
import { compactionAnswer } from "./compaction-answer.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { lostParts } from "@pagurus/core/data/lost-parts";
import { defined } from "@pagurus/core/data/defined";

type Resolved = ReturnType<typeof resolveModel>;

/** Creates the upstream for a turn's model. */
export type UpstreamFor = (model: Resolved, sessionKey: string) => Upstream;

export interface TurnGovernorOptions {
  sessionKey: string;
  runtime: string;
  /** Throws `credential_missing`, `config_invalid`, `model_unknown`. */
  resolve(ref: string): Resolved;
  upstreamFor: UpstreamFor;
  /** The engine's addition is not in the harness's system prompt; it is encoded with the context. */
  saysAddition?: boolean | undefined;
}

/** Where a turn began in its first request. */
interface LiveStart {
  from: number;
  /** Its first element with text. */
  index: number;
  words: string;
}

export class TurnGovernor implements Governor {
  readonly #options: TurnGovernorOptions;
  #turn: WireTurn | undefined;
  /** Upstreams by ref, so that connections are reused. */
  readonly #upstreams = new Map<string, Upstream>();
  /** Messages of the turn that the harness may have dropped in its own compaction: its bytes no longer represent them. */
  #gone: { turnId: string; entryIds: ReadonlySet<string> } | undefined;
  /** The same, before the last compaction. */
  #goneBefore: { turnId: string; entryIds: ReadonlySet<string> } | undefined;
  #live: LiveStart | undefined;
  readonly #fixed = new FixedPart();
  /** Largest fixed part of a request of the turn, tokens: a budget that grows and shrinks would rebuild the context. */
  #fixedTokens = 0;
  /** Model of the last turn: requests after the end of a turn go to the same upstream. */
  #lastModel: string | undefined;

  constructor(options: TurnGovernorOptions) {
    this.#options = options;
  }

  serve(turn: WireTurn | undefined): void {
    if (turn !== this.#turn) {
      this.#live = undefined;
      this.#fixedTokens = 0;
    }
    this.#turn = turn;
    if (turn) this.#lastModel = turn.model.ref;
  }

  owner(): RequestOwner {
    const turn = this.#turn;
    return turn ? { agentId: turn.hostAgentId, sessionId: turn.sessionId, turnId: turn.turnId } : {};
  }

  async main(
    request: WireRequest,
    { overflow }: GovernorCall & { overflow?: { message: string } },
  ): Promise<Governed | undefined> {
    const turn = this.#running();
    if (!turn.engine.governs) return undefined;
    const liveFrom = this.#liveFrom(request);
    const fixedTokens = Math.max(this.#fixedTokens, this.#fixed.tokensOf({ ...request, liveFrom }));
    this.#fixedTokens = fixedTokens;
    // Before the context, which shows a call without a result as open: the result may be recorded meanwhile.
    const open = openCalls(turn.messages());
    const context = await turn.assemble({
      fixedTokens,
      ...(request.kind === "compaction" ? { forCompaction: true } : {}),
      ...defined({ overflow }),
    });
    const originals = new Map<string, AgentMessage>();
    for (const message of turn.messages())
      if (message.entryId !== undefined) originals.set(message.entryId, message);
    // A compaction that goes upstream shows the messages from before it.
    const known = request.kind === "compaction" ? this.#goneBefore : this.#gone;
    const gone = known?.turnId === turn.turnId ? known.entryIds : undefined;
    const { systemPromptAddition: addition, ...shown } = context;
    const isEncoded = this.#options.saysAddition === true && addition !== undefined;
    return {
      context: isEncoded ? { ...shown, systemPromptAddition: addition } : shown,
      isOriginal: (message) =>
        !gone?.has(message.entryId ?? "") && isSame(message, originals.get(message.entryId ?? "")),
      isOpen: (callId) => open.has(callId),
      liveFrom,
    };
  }

  /** Start of the live turn in the turn's first request, while the same text is there: later requests may end with other text. */
  #liveFrom(request: WireRequest): number {
    const { items, liveFrom } = request;
    const first = this.#live;
    if (first && wordsAt(request, first.index) === first.words) return Math.min(first.from, liveFrom);
    const index = items.findIndex(({ kind }, at) => at >= liveFrom && kind === "message");
    if (!first && index >= 0) this.#live = { from: liveFrom, index, words: wordsAt(request, index) };
    return liveFrom;
  }

  async compaction(request: WireRequest, { signal }: GovernorCall): Promise<{ summary: string } | undefined> {
    const { trigger, focus } = request.compaction ?? { trigger: "auto" };
    const turn = this.#running();
    const entryIds = turn.messages().flatMap(({ entryId }) => (entryId === undefined ? [] : [entryId]));
    this.#goneBefore = this.#gone;
    this.#gone = { turnId: turn.turnId, entryIds: new Set(entryIds) };
    const question = {
      trigger: trigger === "manual" ? ("manual" as const) : ("threshold" as const),
      ...defined({ customInstructions: focus }),
      signal,
    };
    return compactionAnswer(question, turn.engine.ownsCompaction, (asked) => turn.answerCompaction(asked));
  }

  upstream(): Upstream {
    const { resolve, upstreamFor, sessionKey } = this.#options;
    const ref = this.#turn?.model.ref ?? this.#lastModel;
    if (ref === undefined) throw this.#idle();
    let upstream = this.#upstreams.get(ref);
    if (!upstream) this.#upstreams.set(ref, (upstream = upstreamFor(resolve(ref), sessionKey)));
    return upstream;
  }

  windowOf(): number | undefined {
    return this.#turn?.model.contextWindow;
  }

  sent(request: WireRequest): void {
    this.#turn?.receipt({ seam: "wire", own: ownPartsOf(request) });
  }

  answered(_request: WireRequest, { usage, cache, degraded, error }: WireAnswer): void {
    if (degraded) this.#turn?.degrade("answer", lostParts(degraded));
    if (usage) this.#turn?.receipt({ usage, ...defined({ cache }) });
    else if (error) this.#turn?.receipt({ failed: true });
  }

  #running(): WireTurn {
    if (!this.#turn) throw this.#idle();
    return this.#turn;
  }

  #idle(): PagurusError {
    const { runtime, sessionKey } = this.#options;
    return new PagurusError(
      "gateway_failed",
      `The runtime ${runtime} asked its model while no turn of the session ${sessionKey} runs; send a prompt first.`,
      { details: { runtime, sessionKey } },
    );
  }
}

/** Whether the engine returned the transcript's message unchanged, ignoring metadata. */
function isSame(message: AgentMessage, original: AgentMessage | undefined): boolean {
  if (!original || original.role !== message.role) return false;
  if (
    message.role === "toolResult" &&
    original.role === "toolResult" &&
    message.toolCallId !== original.toolCallId
  )
    return false;
  return message === original || isDeepStrictEqual(message.content, original.content);
}

function openCalls(messages: readonly AgentMessage[]): Set<string> {
  const open = new Set<string>();
  for (const message of messages) {
    if (message.role === "toolResult") open.delete(message.toolCallId);
    for (const id of callsIn(message)) open.add(id);
  }
  return open;
}

function wordsAt({ items }: WireRequest, index: number): string {
  return JSON.stringify(items[index]?.messages ?? []);
}
