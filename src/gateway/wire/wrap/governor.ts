/**
 * Follows the user's own program: each of its turns is a turn of the host, its requests get the engine's context, and what it says
 * and is answered is recorded in the order in which its model saw it.
 */
import { toPagurusError } from "../../../contract/errors.ts";
import type { Pagurus } from "../../../contract/host.ts";
import type { AgentMessage, UserMessage } from "../../../contract/message.ts";
import type { ToolSet } from "../../../contract/tool.ts";
import type { Logger } from "../../../platform/log.ts";
import type { WireAnswer, WireRequest } from "../dialect/dialect.ts";
import { FixedPart } from "../fixed.ts";
import type { Governed, Governor, GovernorCall } from "../governor.ts";
import { insistent } from "../insistent.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { WrapHarness } from "./harness.ts";
import { Conversation } from "./conversation.ts";
import { LiveTurn } from "./live-turn.ts";
import { historyDigest, Rewinds } from "./rewinds.ts";
import { historySaid, isEmptyUser, liveSaid } from "./said.ts";
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
/** How long a conversation waits for the answer to another one, ms: its user has most likely stopped that. */
const BESIDE_MS = 2_000;
/** Conversations that are known, but for those being answered. */
const MOST_KEPT = 8;
/** What a turn begins with that goes on with one that the host has ended. */
const GOES_ON = "(The turn goes on.)";

export class WrapGovernor implements Governor {
  readonly #options: WrapGovernorOptions;
  readonly #threads: WrapThreads;
  /** By the program's name for them, the last used one last. */
  readonly #conversations = new Map<string, Conversation>();
  /** Which of them a request was made in. */
  readonly #requests = new WeakMap<WireRequest, Conversation>();
  /** Digests of what the transcript has, by entry. */
  readonly #originals = new Map<string, string>();
  readonly #rewinds: Rewinds;
  readonly #fixed = new FixedPart();
  /** Ends when the turn of the newest request is begun. */
  #following: Promise<void> = Promise.resolve();
  #turns = 0;

  constructor(options: WrapGovernorOptions) {
    this.#options = options;
    const { pagurus, sessionKey, agentId, harness, cwd, logger, tell } = options;
    this.#rewinds = new Rewinds(cwd);
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

  /**
   * Those of the turn that has made the call. A program may make it before its answer has ended, and by an id of its own: it is
   * of the one turn that there is then. Undefined between turns, and where it may be of several.
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
    const known = this.#conversations.get(threadOf(request));
    if (request.kind === "compaction") return known?.toCompact(overflow);
    known?.goesOn();
    const isAgain = overflow !== undefined && known !== undefined;
    if (isAgain) known.decides();
    const conversation = isAgain ? known : await this.#begun(request);
    this.#requests.set(request, conversation);
    return conversation.governed(overflow);
  }

  async compaction(request: WireRequest, { signal }: GovernorCall): Promise<{ summary: string } | undefined> {
    const thread = threadOf(request);
    const conversation = this.#conversations.get(thread);
    conversation?.goesOn();
    this.#rewinds.forget(thread);
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
      const turn = conversation?.turn;
      if (conversation && turn && !turn.isOver && !turn.isFinal && trigger !== "manual") {
        await turn.catchUpBefore(request);
        await turn.catchUp(liveSaid(request).filter(({ role }) => role === "toolResult"));
        conversation.isCompacted();
        return await insistent(question, turn.ownsCompaction, (asked) => turn.answerCompaction(asked));
      }
      await conversation?.end();
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

  async compacted(request: WireRequest, answer: WireAnswer): Promise<void> {
    await this.#conversations.get(threadOf(request))?.turn.compacted(answer);
  }

  upstream(request: WireRequest | undefined): Upstream {
    return this.#options.upstream(request);
  }

  sent(request: WireRequest): void {
    this.#of(request)?.sent();
  }

  async answered(
    request: WireRequest,
    answer: WireAnswer,
    { isAborted }: GovernorCall & { isAborted: boolean },
  ): Promise<void> {
    const conversation = this.#of(request);
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
    if (turn.isFinal) conversation.endsIn(this.#options.settleMs ?? SETTLE_MS);
    else if (turn.isInterrupted) conversation.endsIn(retryMs);
  }

  #of(request: WireRequest): Conversation | undefined {
    return this.#requests.get(request) ?? this.#conversations.get(threadOf(request));
  }

  /** Ends the turns that are open, with what has come of their answers, and waits for it. The program has left. Never throws. */
  async close(): Promise<void> {
    const open = [...this.#conversations.values()];
    await Promise.all(open.map((conversation) => conversation.untilAnswered(LAST_WORDS_MS)));
    for (const conversation of open) await conversation.end();
  }

  /** The conversation of a request, with its turn begun; why none can be begun is told when the program has ended, too. */
  async #begun(request: WireRequest): Promise<Conversation> {
    // One after the other: which session a turn is of depends on the turns that are open.
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
      this.#options.tell(toPagurusError(error).message);
      throw error;
    }
  }

  /** The turn of a request, begun where it begins one, with all that was said in it. */
  async #followed(request: WireRequest): Promise<Conversation> {
    const live = liveSaid(request);
    const known = this.#conversations.get(threadOf(request));
    const last = known?.turn;
    await last?.catchUpBefore(request);
    const goesOn = last !== undefined && isOf(last, request, live);
    if (known && last && goesOn && !last.isOver) {
      await last.catchUp(live);
      return known;
    }
    await known?.end();
    await this.#leaveOthers(threadOf(request));
    if (
      !goesOn &&
      (await this.#rewinds.follow(request, this.#options.pagurus.sessions(this.#options.agentId)))
    )
      this.#options.logger.info("wrapped program's conversation rewound", { sessionKey: this.sessionKey });
    const turn = await this.#begin(request, live, goesOn ? last : undefined);
    const conversation = this.#keep(threadOf(request), turn);
    await turn.catchUp(live);
    return conversation;
  }

  /**
   * The program has turned to another conversation, and its session is free for that. One that is still being answered after a
   * while goes on beside it.
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
      if (this.#conversations.size > MOST_KEPT && isIdle && other !== thread)
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
    const { harness, pagurus, agentId, cwd, logger, modelOf, tell } = this.#options;
    const sessionKey = await this.#threads.sessionFor(request, (key) => this.#isBusy(key));
    harness.noteFixed(sessionKey, this.#fixed.tokensOf(request));
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
    this.#turns += 1;
    const { recorded, inputEntryId: entryId } = turn;
    if (input && !before && entryId !== undefined) {
      const told = historyDigest(historySaid(request));
      this.#rewinds.note(threadOf(request), { sessionKey, recorded, entryId, before: told });
    }
    return turn;
  }
}

function threadOf({ native }: WireRequest): string {
  return native.threadId ?? "";
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
