/**
 * Governor for the user's own program: each of its turns is a turn of the host, its requests get the engine's context, and its
 * messages and answers are recorded in the order in which its model saw them.
 */
import { toPagurusError } from "@pagurus/contract/errors";
import type { Pagurus } from "@pagurus/contract/host/host";
import type { AgentMessage, AssistantMessage, UserMessage } from "@pagurus/contract/message";
import type { CompactionQuestion } from "@pagurus/contract/harness/native-compaction";
import type { ToolSet } from "@pagurus/contract/harness/tool";
import type { Logger } from "@pagurus/core/platform/log";
import type { WireAnswer, WireRequest } from "../dialect/wire-dialect.ts";
import { FixedPart } from "../request/fixed.ts";
import { conversationOf } from "../request/order.ts";
import type { Governed, Governor, GovernorCall } from "../governor/governor.ts";
import { compactionAnswer } from "../governor/compaction-answer.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { WrapHarness } from "./wrap-harness.ts";
import type { WrapClaims } from "./wrap-claims.ts";
import { Conversation } from "./wrap-conversation.ts";
import { LiveTurn } from "./wrap-live-turn.ts";
import { historyDigest, Rewinds } from "./rewinds.ts";
import { historyMessages, isEmptyUser, liveMessages } from "./request-messages.ts";
import { WrapThreads } from "./wrap-threads.ts";
import { defined } from "@pagurus/core/data/defined";

export interface WrapGovernorOptions {
  pagurus: Pick<Pagurus, "run" | "sessions" | "renew" | "native">;
  harness: WrapHarness;
  sessionKey: string;
  agentId: string;
  cwd: string;
  /** As in `ThreadsOptions`. */
  folder?: string | undefined;
  claims?: WrapClaims | undefined;
  logger: Logger;
  /** The engine owns compaction; used while no turn has run. */
  ownsCompaction?: boolean;
  /** Ref of the model that a request names. */
  modelOf(request: WireRequest): string;
  /** Upstream of a request; without a request: that of the last one. */
  upstream(request: WireRequest | undefined): Upstream;
  /** Reports a sentence to the user after the program has left the terminal. */
  notify(sentence: string): void;
  /** Called with each complete answer. `hasLeft`: the client left before it had all of it. */
  onAnswer?(request: WireRequest, message: AssistantMessage, hasLeft: boolean): void;
  /** Called with the summary that answers a compaction of the program: its next request begins with it. */
  onSummary?(request: WireRequest, summary: string): void;
  /** How long a turn stays open after its last answer, in case the program continues it, ms. Default 500. */
  settleMs?: number;
}

const WRAP_SETTLE_MS = 500;
/** How long the program may retry an answer that was cut, ms. */
const RETRY_MS = 120_000;
/** The same if the program disconnected: its user has most likely stopped it, and others wait for the session. */
const STOPPED_MS = 5_000;
/** How long closing waits for the end of an answer without a reader, ms. */
const LAST_ANSWER_MS = 1_000;
/** How long a conversation waits for the answer to another one, ms: its user has most likely stopped that. */
const BESIDE_MS = 2_000;
/** Maximum number of known conversations, not counting those being answered. */
const MOST_CONVERSATIONS = 8;
/** Input of a turn that continues one that the host has ended. */
const CONTINUED_INPUT = "(The turn goes on.)";

export class WrapGovernor implements Governor {
  readonly #options: WrapGovernorOptions;
  readonly #threads: WrapThreads;
  /** Conversations by the program's name for them, in order of last use. */
  readonly #conversations = new Map<string, Conversation>();
  /** The conversation of each request. */
  readonly #requests = new WeakMap<WireRequest, Conversation>();
  /** Digests of the transcript's messages, by entry. */
  readonly #originals = new Map<string, string>();
  readonly #rewinds: Rewinds;
  readonly #fixed = new FixedPart();
  /** Ends when the turn of the newest request has begun. */
  #following: Promise<void> = Promise.resolve();
  #turns = 0;

  constructor(options: WrapGovernorOptions) {
    this.#options = options;
    const { harness, cwd } = options;
    this.#rewinds = new Rewinds(cwd);
    this.#threads = new WrapThreads({ ...options, runtime: harness.id });
  }

  /** Number of turns so far. */
  get turns(): number {
    return this.#turns;
  }

  /** The session that is followed now. */
  get sessionKey(): string {
    return this.#threads.current;
  }

  /** Whether the conversation of that name waits for an answer. */
  isAnswering(thread: string): boolean {
    return this.#conversations.get(thread)?.isIdle === false;
  }

  /** Whether a turn waits for results of the program's tools. */
  get hasOpenCalls(): boolean {
    return [...this.#conversations.values()].some(
      ({ turn }) => !turn.isOver && turn.recorded.openCalls.size > 0,
    );
  }

  /**
   * The tools of the turn that made the call. A program may make it before its answer has ended, and with an id of its own: then the
   * only open turn is used. Undefined between turns, and if several turns are possible.
   */
  toolsFor(callId: string): ToolSet | undefined {
    const going = [...this.#conversations.values()].filter(({ turn }) => !turn.isOver);
    const made = going.find(({ turn }) => turn.recorded.openCalls.has(callId));
    return (made ?? (going.length === 1 ? going[0] : undefined))?.turn.tools;
  }

  async main(
    request: WireRequest,
    { overflow }: GovernorCall & { overflow?: { message: string } },
  ): Promise<Governed | undefined> {
    const known = this.#conversations.get(conversationOf(request));
    if (request.kind === "compaction") return known?.toCompact(overflow);
    known?.continues();
    const isRetry = overflow !== undefined && known !== undefined;
    if (isRetry) known.decides();
    const conversation = isRetry ? known : await this.#begun(request);
    this.#requests.set(request, conversation);
    return conversation.governed(overflow);
  }

  async compaction(request: WireRequest, { signal }: GovernorCall): Promise<{ summary: string } | undefined> {
    const answer = await this.#summary(request, signal);
    if (answer) this.#noteSummary(request, answer.summary);
    return answer;
  }

  #noteSummary(request: WireRequest, summary: string): void {
    this.#options.onSummary?.(request, summary);
    this.#threads.noteSummary(request, summary);
  }

  async #summary(request: WireRequest, signal: AbortSignal): Promise<{ summary: string } | undefined> {
    const thread = conversationOf(request);
    const conversation = this.#conversations.get(thread);
    conversation?.continues();
    this.#rewinds.forget(thread);
    const sessionKey = await this.#threads.held(request);
    if (sessionKey === undefined) return undefined;
    const question = compactionQuestion(request, signal);
    try {
      if (conversation && isInside(conversation.turn, question))
        return await this.#summaryInTurn(request, conversation, question);
      await conversation?.end();
      return await this.#summaryBetweenTurns(request, conversation?.turn, { sessionKey, question });
    } catch (error) {
      const { harness, logger } = this.#options;
      const { code } = toPagurusError(error);
      logger.warn("wrapped program's compaction not answered", { runtime: harness.id, sessionKey, code });
      return undefined;
    }
  }

  async #summaryInTurn(
    request: WireRequest,
    conversation: Conversation,
    question: CompactionQuestion,
  ): Promise<{ summary: string } | undefined> {
    const { turn } = conversation;
    await turn.catchUpBefore(request);
    await turn.catchUp(liveMessages(request).filter(({ role }) => role === "toolResult"));
    conversation.isCompacted();
    return compactionAnswer(question, turn.ownsCompaction, (asked) => turn.answerCompaction(asked));
  }

  /** `last`: the conversation's last turn, which has ended. */
  #summaryBetweenTurns(
    request: WireRequest,
    last: LiveTurn | undefined,
    { sessionKey, question }: { sessionKey: string; question: CompactionQuestion },
  ): Promise<{ summary: string } | undefined> {
    const { pagurus, harness, agentId, cwd, modelOf, ownsCompaction } = this.#options;
    const about = { runtime: harness.id, sessionKey, agentId, model: modelOf(request), cwd };
    const owns = last?.ownsCompaction ?? ownsCompaction === true;
    return compactionAnswer(question, owns, (asked) =>
      pagurus.native.answerCompaction({ ...about, ...asked }),
    );
  }

  async compacted(request: WireRequest, answer: WireAnswer): Promise<void> {
    const summary = answer.message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    if (summary !== "") this.#noteSummary(request, summary);
    await this.#conversations.get(conversationOf(request))?.turn.compacted(answer);
  }

  upstream(request: WireRequest | undefined): Upstream {
    return this.#options.upstream(request);
  }

  windowOf(request: WireRequest): number | undefined {
    return this.#of(request)?.turn.contextWindow;
  }

  sent(request: WireRequest): void {
    this.#of(request)?.sent(request);
  }

  async answered(
    request: WireRequest,
    answer: WireAnswer,
    { isAborted }: GovernorCall & { isAborted: boolean },
  ): Promise<void> {
    const conversation = this.#of(request);
    if (answer.isComplete && answer.error === undefined)
      this.#options.onAnswer?.(request, answer.message, isAborted);
    if (!conversation) return;
    try {
      await this.#take(conversation, answer, isAborted ? STOPPED_MS : RETRY_MS);
    } finally {
      conversation.answered();
    }
  }

  async #take(conversation: Conversation, answer: WireAnswer, retryMs: number): Promise<void> {
    const { turn } = conversation;
    if (turn.isOver) return;
    await turn.answered(answer);
    if (turn.isFinal) conversation.endsIn(this.#options.settleMs ?? WRAP_SETTLE_MS);
    else if (turn.isInterrupted) conversation.endsIn(retryMs);
  }

  #of(request: WireRequest): Conversation | undefined {
    return this.#requests.get(request) ?? this.#conversations.get(conversationOf(request));
  }

  /** Ends the open turns, with their partial answers, and waits for that. Called after the program has exited. Never throws. */
  async close(): Promise<void> {
    const open = [...this.#conversations.values()];
    await Promise.all(open.map((conversation) => conversation.untilAnswered(LAST_ANSWER_MS)));
    for (const conversation of open) await conversation.end();
    this.#threads.storeSummaries();
  }

  /** The conversation of a request, with its turn begun; if none can begin, the reason is also reported after the program has exited. */
  async #begun(request: WireRequest): Promise<Conversation> {
    // In sequence: the session of a turn depends on the turns that are open.
    const begun = this.#following.then(async () => {
      const conversation = await this.#followed(request);
      conversation.decides();
      return conversation;
    });
    this.#following = begun.then(
      () => undefined,
      () => undefined,
    );
    try {
      return await begun;
    } catch (error) {
      this.#options.notify(toPagurusError(error).message);
      throw error;
    }
  }

  /** Begins the turn of a request if necessary, and records all its messages. */
  async #followed(request: WireRequest): Promise<Conversation> {
    const thread = conversationOf(request);
    const live = liveMessages(request);
    const known = this.#conversations.get(thread);
    await known?.turn.catchUpBefore(request);
    const continued = known && isRequestOf(known.turn, request, live) ? known : undefined;
    if (continued && !continued.turn.isOver) {
      await continued.turn.catchUp(live);
      return continued;
    }
    await known?.end();
    await this.#leaveOthers(thread);
    if (!continued) await this.#rewind(request);
    const turn = await this.#begin(request, live, continued?.turn);
    const conversation = this.#keep(thread, turn);
    await turn.catchUp(live);
    return conversation;
  }

  /** Rewinds the session when the request has an earlier state of the conversation. */
  async #rewind(request: WireRequest): Promise<void> {
    const { pagurus, agentId, logger } = this.#options;
    if (await this.#rewinds.follow(request, pagurus.sessions(agentId)))
      logger.info("wrapped program's conversation rewound", { sessionKey: this.sessionKey });
  }

  /**
   * Ends the other conversations, as the program has switched to this one, so that their session is free. One that is still being
   * answered after a timeout continues in parallel.
   */
  async #leaveOthers(thread: string): Promise<void> {
    for (const [other, conversation] of this.#conversations) {
      if (other === thread) continue;
      await conversation.untilAnswered(BESIDE_MS);
      if (conversation.isIdle) await conversation.end();
    }
  }

  #keep(thread: string, turn: LiveTurn): Conversation {
    const conversation = new Conversation(turn, this.#originals);
    this.#conversations.delete(thread);
    this.#conversations.set(thread, conversation);
    for (const [other, { isIdle }] of this.#conversations)
      if (this.#conversations.size > MOST_CONVERSATIONS && isIdle && other !== thread)
        this.#conversations.delete(other);
    return conversation;
  }

  #isBusy(sessionKey: string): boolean {
    return [...this.#conversations.values()].some(
      ({ turn, isIdle }) => turn.sessionKey === sessionKey && !isIdle,
    );
  }

  async #begin(
    request: WireRequest,
    live: readonly AgentMessage[],
    before: LiveTurn | undefined,
  ): Promise<LiveTurn> {
    const { harness, pagurus, agentId, cwd, logger, modelOf, notify } = this.#options;
    const sessionKey = await this.#threads.sessionFor(request, (key) => this.#isBusy(key));
    harness.noteFixed(sessionKey, this.#fixed.tokensOf(request));
    const input = live.find(
      (message): message is UserMessage => message.role === "user" && !isEmptyUser(message),
    );
    const onProblem = (sentence: string): void => {
      logger.warn("wrapped program's turn degraded", { runtime: harness.id, sessionKey });
      notify(sentence);
    };
    const turn = await LiveTurn.begin(
      { pagurus, harness, agentId, onProblem },
      {
        sessionKey,
        cwd,
        model: modelOf(request),
        input: before || !input ? { role: "user", content: CONTINUED_INPUT } : input,
        native: request.native,
        ...defined({ recorded: before?.recorded }),
      },
    );
    this.#turns += 1;
    const { recorded, inputEntryId: entryId } = turn;
    if (input && !before && entryId !== undefined) {
      const digest = await historyDigest(historyMessages(request));
      this.#rewinds.note(conversationOf(request), { sessionKey, recorded, entryId, before: digest });
    }
    return turn;
  }
}

function compactionQuestion({ compaction }: WireRequest, signal: AbortSignal): CompactionQuestion {
  const { trigger, focus } = compaction ?? { trigger: "auto" };
  return {
    trigger: trigger === "manual" ? "manual" : "threshold",
    ...defined({ customInstructions: focus }),
    signal,
  };
}

/** Whether a compaction belongs to a turn that runs; one that the user asks for comes after it. */
function isInside({ isOver, isFinal }: LiveTurn, { trigger }: CompactionQuestion): boolean {
  return !isOver && !isFinal && trigger !== "manual";
}

/** Whether a request continues a turn, and does not begin another. */
function isRequestOf(turn: LiveTurn, request: WireRequest, live: readonly AgentMessage[]): boolean {
  const { native } = request;
  const { turnId } = turn.native;
  if (conversationOf(turn) !== conversationOf(request)) return false;
  if (turnId !== undefined && native.turnId !== undefined) return turnId === native.turnId;
  const [first] = live;
  // A compaction of the program inside the turn leaves its newest answer, without the input that it began with.
  const isSame = first !== undefined && turn.recorded.has(first);
  // The same text again after an answer is a new input.
  if (turn.isFinal || turn.isOver) return isSame && live.some(({ role }) => role !== "user");
  return isSame || first?.role === "toolResult";
}
