/** One conversation of the program: its newest turn, whether it is being answered, and what its model was shown last. */
import type { AgentMessage } from "../../../contract/message.ts";
import type { Governed } from "../governor.ts";
import { atMost } from "../patience.ts";
import { digestOf, type LiveTurn } from "./live-turn.ts";

type Context = Governed["context"];

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

  constructor(turn: LiveTurn, originals: Map<string, string>) {
    this.turn = turn;
    this.#originals = originals;
  }

  /** A request of it has gone out, and its end is not recorded. */
  get isAnswered(): boolean {
    return this.#answer === undefined;
  }

  sent(): void {
    this.#answer ??= Promise.withResolvers();
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
    const { messages, historyCount, systemPromptAddition } = await this.turn.assemble(overflow);
    if (!this.turn.governs) return undefined;
    this.turn.noteOriginals(this.#originals);
    this.#before = undefined;
    this.#shown = {
      messages,
      historyCount,
      ...(systemPromptAddition === undefined ? {} : { systemPromptAddition }),
    };
    return { context: this.#shown, isOriginal: (message) => isIn(this.#originals, message) };
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
    if (!this.turn.isOver) {
      const { messages, historyCount, systemPromptAddition: addition } = await this.turn.assemble(overflow);
      const said = addition === undefined ? {} : { systemPromptAddition: addition };
      return { context: { messages, historyCount, ...said }, isOriginal };
    }
    if (!this.#shown || overflow) return undefined;
    const known = new Set(this.#shown.messages.map(({ entryId }) => entryId));
    const since = this.turn.said.filter(({ entryId }) => !known.has(entryId));
    const context = { ...this.#shown, messages: [...this.#shown.messages, ...since] };
    return { context, isOriginal };
  }
}

function isIn(originals: ReadonlyMap<string, string>, message: AgentMessage): boolean {
  const digest = message.entryId === undefined ? undefined : originals.get(message.entryId);
  return digest !== undefined && digest === digestOf(message);
}
