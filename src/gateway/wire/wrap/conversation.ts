/** One conversation of the program: its newest turn, whether it is being answered, and what its model was shown last. */
import type { AgentMessage } from "../../../contract/message.ts";
import type { Governed } from "../governor.ts";
import { atMost } from "../patience.ts";
import { digestOf, type LiveTurn } from "./live-turn.ts";

type Context = Governed["context"];

/** So long after its decision a request that has not gone out never will, ms. */
const HANDOVER_MS = 100;

export class Conversation {
  /** It may be over. */
  readonly turn: LiveTurn;
  /** Digests of what the transcript has, by entry; of all conversations. */
  readonly #originals: Map<string, string>;
  #shown: Context | undefined;
  /** As the digests were before the compaction that is being asked for. */
  #before: ReadonlyMap<string, string> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #answer: PromiseWithResolvers<void> | undefined;
  /** Requests that are being decided on. */
  #deciding = 0;
  /** One for each that was decided on and has not gone out. */
  readonly #handed: NodeJS.Timeout[] = [];
  /** How much of the turn was said when it was shown. */
  #saidCount = 0;

  constructor(turn: LiveTurn, originals: Map<string, string>) {
    this.turn = turn;
    this.#originals = originals;
  }

  /** No request of it is decided on or out, and of all that were the end is recorded. */
  get isIdle(): boolean {
    return this.#answer === undefined && this.#deciding === 0;
  }

  /** A request of it is decided on from now on: `governed` is asked next. */
  decides(): void {
    this.#deciding += 1;
  }

  /** One that was decided on has gone out, or never will. */
  #leaves(): void {
    if (this.#handed.length === 0) return;
    clearTimeout(this.#handed.shift());
    this.#deciding -= 1;
  }

  sent(): void {
    this.#answer ??= Promise.withResolvers();
    this.#leaves();
    this.turn.sent();
  }

  answered(): void {
    this.#answer?.resolve();
    this.#answer = undefined;
  }

  /** Resolves when nothing is being answered, or after that long. */
  async untilAnswered(ms: number): Promise<void> {
    if (this.#answer) await atMost(this.#answer.promise, ms);
  }

  /** It is asked again. */
  goesOn(): void {
    clearTimeout(this.#timer);
  }

  endsIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.end(), ms);
    this.#timer.unref();
  }

  /** Ends its turn where it is. Never throws. */
  async end(): Promise<void> {
    clearTimeout(this.#timer);
    await this.turn.end();
    this.turn.noteOriginals(this.#originals);
  }

  /** What the model is to see. Throws as `HarnessTurn.assemble`. */
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
    this.#saidCount = this.turn.said.length;
    this.#shown = context;
    return { context, isOriginal: (message) => isIn(this.#originals, message) };
  }

  async #assembled(overflow: { message: string } | undefined): Promise<Context> {
    const { messages, historyCount, systemPromptAddition } = await this.turn.assemble(overflow);
    return {
      messages,
      historyCount,
      ...(systemPromptAddition === undefined ? {} : { systemPromptAddition }),
    };
  }

  /** The program is about to drop what it has of the turn: its elements stand for that no more, as it may not have them. */
  isCompacted(): void {
    this.turn.noteOriginals(this.#originals);
    this.#before = new Map(this.#originals);
    this.turn.forgetOriginals(this.#originals);
  }

  /**
   * What its provider is to see where it makes a compaction; between turns what the model saw last, and what was said since.
   * Throws as `HarnessTurn.assemble`.
   */
  async toCompact(overflow: { message: string } | undefined): Promise<Governed | undefined> {
    const before = this.#before ?? this.#originals;
    const isOriginal = (message: AgentMessage): boolean => isIn(before, message);
    if (!this.turn.governs) return undefined;
    if (!this.turn.isOver) return { context: await this.#assembled(overflow), isOriginal };
    if (!this.#shown || overflow) return undefined;
    const context = {
      ...this.#shown,
      messages: [...this.#shown.messages, ...this.turn.said.slice(this.#saidCount)],
    };
    return { context, isOriginal };
  }
}

function isIn(originals: ReadonlyMap<string, string>, message: AgentMessage): boolean {
  const digest = message.entryId === undefined ? undefined : originals.get(message.entryId);
  return digest !== undefined && digest === digestOf(message);
}
