/**
 * State of one conversation of the program: its newest turn, whether a request is being answered, and the context last shown to its
 * model.
 */
import type { AgentMessage } from "@pagurus/contract/message";
import { nextSlice } from "@pagurus/core/platform/pace";
import type { WireRequest } from "../dialect/wire-dialect.ts";
import type { Governed } from "../governor/governor.ts";
import { atMost } from "../request/timeouts.ts";
import { messageDigest, type LiveTurn } from "./wrap-live-turn.ts";
import { defined } from "@pagurus/core/data/defined";

type Context = Governed["context"];

/** Time after its decision until a request counts as never sent, ms. */
const HANDOVER_MS = 100;

export class Conversation {
  /** The newest turn; it may be over. */
  readonly turn: LiveTurn;
  /** Digests of the transcript's messages, by entry; of all conversations. */
  readonly #originals: Map<string, string>;
  #shown: Context | undefined;
  /** The digests from before the current compaction. */
  #before: ReadonlyMap<string, string> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #answer: PromiseWithResolvers<void> | undefined;
  /** Number of requests whose decision or sending is pending. */
  #deciding = 0;
  /** Timers of requests that were decided on and not sent yet. */
  readonly #handed: NodeJS.Timeout[] = [];
  /** Number of the turn's messages in the context last shown. */
  #shownCount = 0;

  constructor(turn: LiveTurn, originals: Map<string, string>) {
    this.turn = turn;
    this.#originals = originals;
  }

  /** No request is pending or being answered, and all answers are recorded. */
  get isIdle(): boolean {
    return this.#answer === undefined && this.#deciding === 0;
  }

  /** Marks a request as pending; `governed` has to be called next. */
  decides(): void {
    this.#deciding += 1;
  }

  /** Ends a pending request, because it was sent or never will be. */
  #leaves(): void {
    if (this.#handed.length === 0) return;
    clearTimeout(this.#handed.shift());
    this.#deciding -= 1;
  }

  sent(request: WireRequest): void {
    this.#answer ??= Promise.withResolvers();
    this.#leaves();
    this.turn.sent(request);
  }

  answered(): void {
    this.#answer?.resolve();
    this.#answer = undefined;
  }

  /** Resolves when no request is being answered, or after `ms`. */
  async untilAnswered(ms: number): Promise<void> {
    if (this.#answer) await atMost(this.#answer.promise, ms);
  }

  /** Cancels the scheduled end, because another request came. */
  continues(): void {
    clearTimeout(this.#timer);
  }

  endsIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.end(), ms);
    this.#timer.unref();
  }

  /** Ends its turn at the current state. Never throws. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    await this.turn.end();
    // The session's last lines were just indexed, and an image's digest takes as long.
    await nextSlice();
    this.turn.noteOriginals(this.#originals);
  }

  /** The context for the model. Throws as `HarnessTurn.assemble`. */
  async governed(overflow: { message: string } | undefined): Promise<Governed | undefined> {
    try {
      return await this.#governed(overflow);
    } finally {
      this.#handed.push(setTimeout(() => this.#leaves(), HANDOVER_MS).unref());
    }
  }

  async #governed(overflow: { message: string } | undefined): Promise<Governed | undefined> {
    const context = await this.#assembled(overflow);
    if (!this.turn.governs) return undefined;
    this.turn.noteOriginals(this.#originals);
    this.#before = undefined;
    this.#shownCount = this.turn.messages.length;
    this.#shown = context;
    return { context, isOriginal: (message) => isIn(this.#originals, message) };
  }

  async #assembled(overflow: { message: string } | undefined): Promise<Context> {
    const { messages, historyCount, system, previousResponseId } = await this.turn.assemble(overflow);
    return {
      messages,
      historyCount,
      // The base prompt is the program's own: the host's part is only the engine's addition and what hooks put around it.
      ...(system === "" ? {} : { systemPromptAddition: system }),
      ...defined({ previousResponseId }),
    };
  }

  /** Called before the program drops its messages of the turn: its elements no longer represent them, as it may not have them. */
  isCompacted(): void {
    this.turn.noteOriginals(this.#originals);
    this.#before = new Map(this.#originals);
    this.turn.forgetOriginals(this.#originals);
  }

  /**
   * The context for a compaction by its provider; between turns the context last shown to the model, with the messages since. Throws
   * as `HarnessTurn.assemble`.
   */
  async toCompact(overflow: { message: string } | undefined): Promise<Governed | undefined> {
    const before = this.#before ?? this.#originals;
    const isOriginal = (message: AgentMessage): boolean => isIn(before, message);
    if (!this.turn.governs) return undefined;
    if (!this.turn.isOver) return { context: await this.#assembled(overflow), isOriginal };
    if (!this.#shown || overflow) return undefined;
    const context = {
      ...this.#shown,
      messages: [...this.#shown.messages, ...this.turn.messages.slice(this.#shownCount)],
    };
    return { context, isOriginal };
  }
}

function isIn(originals: ReadonlyMap<string, string>, message: AgentMessage): boolean {
  const digest = message.entryId === undefined ? undefined : originals.get(message.entryId);
  return digest !== undefined && digest === messageDigest(message);
}
