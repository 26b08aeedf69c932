/** Requests of a harness that a turn of the host drives: the turn's own `assemble` says what the model sees. */
import { isDeepStrictEqual } from "node:util";
import { PagurusError } from "../../contract/errors.ts";
import type { AgentMessage } from "../../contract/message.ts";
import type { WireTurn } from "../../contract/wire.ts";
import type { resolveModel } from "../../model/resolve.ts";
import type { WireAnswer, WireRequest } from "./dialect/dialect.ts";
import { FixedPart } from "./fixed.ts";
import type { Governed, Governor, GovernorCall, RequestOwner } from "./governor.ts";
import { insistent } from "./insistent.ts";
import type { Upstream } from "./upstream/upstream.ts";

type Resolved = ReturnType<typeof resolveModel>;

/** What the model of a turn is asked through. */
export type UpstreamFor = (model: Resolved, sessionKey: string) => Upstream;

export interface TurnGovernorOptions {
  sessionKey: string;
  runtime: string;
  /** Throws `credential_missing`, `config_invalid`, `model_unknown`. */
  resolve(ref: string): Resolved;
  upstreamFor: UpstreamFor;
  /** The engine's addition stands in no system prompt of the harness: it is said with the context. */
  saysAddition?: boolean | undefined;
}

/** Where a turn began in its first request. */
interface LiveStart {
  from: number;
  /** Its first element with words. */
  said: number;
  words: string;
}

export class TurnGovernor implements Governor {
  readonly #options: TurnGovernorOptions;
  #turn: WireTurn | undefined;
  /** By ref: connections are kept. */
  readonly #upstreams = new Map<string, Upstream>();
  /** Messages of the turn that the harness may have dropped in a compaction of its own: its bytes stand for them no more. */
  #gone: { turnId: string; entryIds: ReadonlySet<string> } | undefined;
  /** The same, as of the compaction before the last one. */
  #goneBefore: { turnId: string; entryIds: ReadonlySet<string> } | undefined;
  #live: LiveStart | undefined;
  readonly #fixed = new FixedPart();
  /** Most that a request of the turn had of the harness's own, tokens: a budget that grows and shrinks renews a context. */
  #fixedTokens = 0;
  /** Of the last turn: what a harness still asks when a turn has ended goes where its requests went. */
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
    const context = await turn.assemble({
      fixedTokens,
      ...(request.kind === "compaction" ? { forCompaction: true } : {}),
      ...(overflow ? { overflow } : {}),
    });
    const said = new Map<string, AgentMessage>();
    for (const message of turn.said()) if (message.entryId !== undefined) said.set(message.entryId, message);
    // A compaction that goes upstream shows what was there before it.
    const known = request.kind === "compaction" ? this.#goneBefore : this.#gone;
    const gone = known?.turnId === turn.turnId ? known.entryIds : undefined;
    const { systemPromptAddition: addition, ...shown } = context;
    const isSaid = this.#options.saysAddition === true && addition !== undefined;
    return {
      context: isSaid ? { ...shown, systemPromptAddition: addition } : shown,
      isOriginal: (message) =>
        !gone?.has(message.entryId ?? "") && isSame(message, said.get(message.entryId ?? "")),
      liveFrom,
    };
  }

  /** Where the turn's first request began it, as long as the same words stand there: later ones may end with other words. */
  #liveFrom(request: WireRequest): number {
    const { items, liveFrom } = request;
    const first = this.#live;
    if (first && wordsAt(request, first.said) === first.words) return Math.min(first.from, liveFrom);
    const said = items.findIndex(({ kind }, index) => index >= liveFrom && kind === "said");
    if (!first && said >= 0) this.#live = { from: liveFrom, said, words: wordsAt(request, said) };
    return liveFrom;
  }

  async compaction(request: WireRequest, { signal }: GovernorCall): Promise<{ summary: string } | undefined> {
    const { trigger, focus } = request.compaction ?? { trigger: "auto" };
    const turn = this.#running();
    const entryIds = turn.said().flatMap(({ entryId }) => (entryId === undefined ? [] : [entryId]));
    this.#goneBefore = this.#gone;
    this.#gone = { turnId: turn.turnId, entryIds: new Set(entryIds) };
    const question = {
      trigger: trigger === "manual" ? ("manual" as const) : ("threshold" as const),
      ...(focus === undefined ? {} : { customInstructions: focus }),
      signal,
    };
    return insistent(question, turn.engine.ownsCompaction, (asked) => turn.answerCompaction(asked));
  }

  upstream(): Upstream {
    const { resolve, upstreamFor, sessionKey } = this.#options;
    const ref = this.#turn?.model.ref ?? this.#lastModel;
    if (ref === undefined) throw this.#idle();
    let upstream = this.#upstreams.get(ref);
    if (!upstream) this.#upstreams.set(ref, (upstream = upstreamFor(resolve(ref), sessionKey)));
    return upstream;
  }

  sent(): void {
    this.#turn?.receipt({ seam: "wire" });
  }

  answered(_request: WireRequest, { usage }: WireAnswer): void {
    if (usage) this.#turn?.receipt({ usage });
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

/** What an engine hands on unchanged is the transcript's message, whatever was noted of it besides its words. */
function isSame(message: AgentMessage, said: AgentMessage | undefined): boolean {
  if (!said || said.role !== message.role) return false;
  if (message.role === "toolResult" && said.role === "toolResult" && message.toolCallId !== said.toolCallId)
    return false;
  return message === said || isDeepStrictEqual(message.content, said.content);
}

function wordsAt({ items }: WireRequest, index: number): string {
  return JSON.stringify(items[index]?.messages ?? []);
}
