/**
 * Follows the user's own program: each of its turns is a turn of the host, its requests get the engine's context, and what it says
 * and is answered is recorded in the order in which its model saw it.
 */
import { toPagurusError } from "../../../contract/errors.ts";
import type { Pagurus } from "../../../contract/host.ts";
import type { AgentMessage, UserMessage } from "../../../contract/message.ts";
import { withDeadline } from "../../../platform/deadline.ts";
import type { Logger } from "../../../platform/log.ts";
import { estimateTokens } from "../../../tokens/estimate.ts";
import type { WireAnswer, WireRequest } from "../dialect/dialect.ts";
import type { Governed, Governor, GovernorCall } from "../governor.ts";
import { insistent } from "../insistent.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { WrapHarness } from "./harness.ts";
import { digestOf, LiveTurn } from "./live-turn.ts";
import { Rewinds } from "./rewinds.ts";
import { isEmptyUser, liveSaid } from "./said.ts";
import { WrapThreads } from "./threads.ts";

export interface WrapGovernorOptions {
  pagurus: Pick<Pagurus, "run" | "sessions" | "renew" | "native">;
  harness: WrapHarness;
  sessionKey: string;
  agentId: string;
  cwd: string;
  logger: Logger;
  /** Ref of the model that a request names. */
  modelOf(request: WireRequest): string;
  /** Where requests are answered; without a request: where its last one was. */
  upstream(request: WireRequest | undefined): Upstream;
  /** A sentence for the user, for when the terminal is ours again. */
  tell(sentence: string): void;
  /** How long a turn stays open behind its last answer, for a program that goes on with it, ms. Default 500. */
  settleMs?: number;
}

const SETTLE_MS = 500;
/** How long an answer that broke off may be asked for again, ms. */
const RETRY_MS = 120_000;
/** The same where the program left: its user has most likely stopped it, and others wait for the session. */
const STOPPED_MS = 5_000;
/** How long the end of an answer may take to be known that nobody waits for any more, ms. */
const LAST_WORDS_MS = 1_000;
/** What a turn begins with that goes on with one that the host has ended. */
const GOES_ON = "(The turn goes on.)";

export class WrapGovernor implements Governor {
  readonly #options: WrapGovernorOptions;
  readonly #threads: WrapThreads;
  /** The newest turn; it may be over. */
  #turn: LiveTurn | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Digests of what the transcript has, by entry. */
  readonly #originals = new Map<string, string>();
  readonly #rewinds: Rewinds;
  /** Resolved when nothing is being answered. */
  #answer = Promise.withResolvers<void>();
  #turns = 0;

  constructor(options: WrapGovernorOptions) {
    this.#options = options;
    const { pagurus, sessionKey, agentId, harness, cwd, logger, tell } = options;
    this.#rewinds = new Rewinds(cwd);
    this.#answer.resolve();
    this.#threads = new WrapThreads({ pagurus, sessionKey, agentId, runtime: harness.id, cwd, logger, tell });
  }

  /** Turns so far. */
  get turns(): number {
    return this.#turns;
  }

  /** The session that is followed now. */
  get sessionKey(): string {
    return this.#threads.current;
  }

  async main(
    request: WireRequest,
    { overflow }: GovernorCall & { overflow?: { message: string } },
  ): Promise<Governed | undefined> {
    clearTimeout(this.#timer);
    const turn = overflow && this.#turn ? this.#turn : await this.#followed(request);
    const { messages, historyCount, systemPromptAddition } = await turn.assemble(overflow);
    if (!turn.governs) return undefined;
    turn.noteOriginals(this.#originals);
    return {
      context: {
        messages,
        historyCount,
        ...(systemPromptAddition === undefined ? {} : { systemPromptAddition }),
      },
      isOriginal: (message) => this.#isOriginal(message),
    };
  }

  async compaction(request: WireRequest, { signal }: GovernorCall): Promise<{ summary: string } | undefined> {
    clearTimeout(this.#timer);
    this.#rewinds.forget(request.native.threadId ?? "");
    const { pagurus, harness, agentId, cwd, logger, modelOf } = this.#options;
    const sessionKey = await this.#threads.held(request);
    if (sessionKey === undefined) return undefined;
    const { trigger, focus } = request.compaction ?? { trigger: "auto" };
    const question = {
      trigger: trigger === "manual" ? ("manual" as const) : ("threshold" as const),
      ...(focus === undefined ? {} : { customInstructions: focus }),
      signal,
    };
    try {
      const turn = this.#turn;
      if (turn && !turn.isOver && !turn.isFinal && trigger !== "manual") {
        await turn.catchUpBefore(request);
        await turn.catchUp(liveSaid(request).filter(({ role }) => role === "toolResult"));
        turn.forgetOriginals(this.#originals);
        return await insistent(question, turn.ownsCompaction, (asked) => turn.answerCompaction(asked));
      }
      await this.#end();
      const about = { runtime: harness.id, sessionKey, agentId, model: modelOf(request), cwd };
      return await insistent(question, turn?.ownsCompaction === true, (asked) =>
        pagurus.native.answerCompaction({ ...about, ...asked }),
      );
    } catch (error) {
      const { code } = toPagurusError(error);
      logger.warn("wrapped program's compaction not answered", { runtime: harness.id, sessionKey, code });
      return undefined;
    }
  }

  async compacted(_request: WireRequest, answer: WireAnswer): Promise<void> {
    await this.#turn?.compacted(answer);
  }

  upstream(request: WireRequest | undefined): Upstream {
    return this.#options.upstream(request);
  }

  sent(): void {
    this.#answer = Promise.withResolvers();
    this.#turn?.sent();
  }

  async answered(
    _request: WireRequest,
    answer: WireAnswer,
    { isAborted }: GovernorCall & { isAborted: boolean },
  ): Promise<void> {
    try {
      await this.#take(answer, isAborted ? STOPPED_MS : RETRY_MS);
    } finally {
      this.#answer.resolve();
    }
  }

  async #take(answer: WireAnswer, retryMs: number): Promise<void> {
    const turn = this.#turn;
    if (!turn || turn.isOver) return;
    await turn.answered(answer);
    clearTimeout(this.#timer);
    if (turn.isFinal) this.#endsLater(this.#options.settleMs ?? SETTLE_MS);
    else if (turn.isInterrupted) this.#endsLater(retryMs);
  }

  /** Ends the turn that is open, with what has come of its answer, and waits for it. The program has left. Never throws. */
  async close(): Promise<void> {
    const { promise } = this.#answer;
    await withDeadline(() => promise, { ms: LAST_WORDS_MS, label: "The last answer" }).catch(() => undefined);
    await this.#end();
  }

  /** The turn of a request, begun where it begins one, with all that was said in it. */
  async #followed(request: WireRequest): Promise<LiveTurn> {
    const live = liveSaid(request);
    const last = this.#turn;
    await last?.catchUpBefore(request);
    const goesOn = last !== undefined && isOf(last, request, live);
    if (last && goesOn && !last.isOver) {
      await last.catchUp(live);
      return last;
    }
    await this.#end();
    if (
      !goesOn &&
      (await this.#rewinds.follow(request, this.#options.pagurus.sessions(this.#options.agentId)))
    )
      this.#options.logger.info("wrapped program's conversation rewound", { sessionKey: this.sessionKey });
    const turn = await this.#begin(request, live, goesOn ? last : undefined);
    await turn.catchUp(live);
    return turn;
  }

  async #begin(
    request: WireRequest,
    live: readonly AgentMessage[],
    before: LiveTurn | undefined,
  ): Promise<LiveTurn> {
    const { harness, pagurus, agentId, cwd, logger, modelOf, tell } = this.#options;
    const sessionKey = await this.#threads.sessionFor(request);
    harness.noteFixed(sessionKey, fixedTokensOf(request));
    const input = live.find(
      (message): message is UserMessage => message.role === "user" && !isEmptyUser(message),
    );
    const onProblem = (sentence: string): void => {
      logger.warn("wrapped program's turn degraded", { runtime: harness.id, sessionKey });
      tell(sentence);
    };
    const turn = await LiveTurn.begin(
      { pagurus, harness, agentId, onProblem },
      {
        sessionKey,
        cwd,
        model: modelOf(request),
        input: before || !input ? { role: "user", content: GOES_ON } : input,
        native: request.native,
        ...(before ? { recorded: before.recorded } : {}),
      },
    );
    this.#turn = turn;
    this.#turns += 1;
    const { recorded, inputEntryId: entryId } = turn;
    if (input && !before && entryId !== undefined)
      this.#rewinds.note(request.native.threadId ?? "", { sessionKey, recorded, entryId });
    return turn;
  }

  async #end(): Promise<void> {
    clearTimeout(this.#timer);
    const turn = this.#turn;
    if (!turn) return;
    await turn.end();
    turn.noteOriginals(this.#originals);
  }

  #endsLater(ms: number): void {
    this.#timer = setTimeout(() => void this.#end(), ms);
    this.#timer.unref();
  }

  #isOriginal(message: AgentMessage): boolean {
    const digest = message.entryId === undefined ? undefined : this.#originals.get(message.entryId);
    return digest !== undefined && digest === digestOf(message);
  }
}

/** Whether a request goes on with a turn, and does not begin another. */
function isOf(turn: LiveTurn, { native }: WireRequest, live: readonly AgentMessage[]): boolean {
  const { threadId, turnId } = turn.native;
  if (threadId !== native.threadId) return false;
  if (turnId !== undefined && native.turnId !== undefined) return turnId === native.turnId;
  const [first] = live;
  // A compaction of the program's inside the turn leaves its newest answer, without the words that it began with.
  const isSame = first !== undefined && turn.recorded.has(first);
  // The same words again behind an answer are a new input.
  if (turn.isFinal || turn.isOver) return isSame && live.some(({ role }) => role !== "user");
  return isSame || first?.role === "toolResult";
}

/** System prompt, tools and all else that the program adds to a conversation. */
function fixedTokensOf({ body, list, items, prefixCount }: WireRequest): number {
  const first = items[prefixCount]?.start ?? list.end;
  return estimateTokens(body.toString("utf8", 0, first) + body.toString("utf8", Math.max(first, list.end)));
}
