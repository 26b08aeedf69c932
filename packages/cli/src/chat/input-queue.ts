/** Inputs that wait: for the chat, or for the running turn to take them. */
import type { TurnRun } from "@pagurus/contract/host/run";
import { oneLine, terminalSafe } from "@pagurus/host/command/layout";
import type { ChatView, TakenBack } from "./chat-view.ts";

/** Returns texts to the input that the ended turn did not take, but for those that a server has begun its next turn with. */
export async function giveBack(
  texts: readonly string[],
  turn: Pick<TurnRun, "takeBack">,
  screen: Pick<ChatView, "restore" | "above">,
): Promise<void> {
  const mine: string[] = [];
  for (const text of texts) {
    const isBack = turn.takeBack?.(text);
    if (typeof isBack !== "object" || (await isBack)) mine.push(text);
    else screen.above(`The server begins its next turn with "${oneLine(terminalSafe(text), 60)}".`);
  }
  screen.restore(mine);
}

export class InputQueue {
  readonly #changed: (steering: readonly string[], queued: readonly string[]) => void;
  readonly #queued: string[] = [];
  /** Handed to the running turn, which has not taken them yet. */
  readonly #steering: string[] = [];
  #hasEnded = false;
  #wake: (() => void) | undefined;

  /** `changed`: called with what waits. */
  constructor(changed: (steering: readonly string[], queued: readonly string[]) => void) {
    this.#changed = changed;
  }

  #show(): void {
    this.#changed(this.#steering, this.#queued);
  }

  push(text: string): void {
    this.#queued.push(text);
    this.#show();
    this.#wake?.();
  }

  /** Puts an input in front of all others. */
  pushFirst(text: string): void {
    this.#queued.unshift(text);
  }

  /** An input is there for the time after the turn. */
  get isWaiting(): boolean {
    return this.#queued.length > 0;
  }

  /** The running turn will take this text. */
  steer(text: string): void {
    this.#steering.push(text);
    this.#show();
  }

  /** The turn took its oldest text. */
  joined(): string | undefined {
    const text = this.#steering.shift();
    this.#show();
    return text;
  }

  /** Texts that the ended turn did not take. */
  left(): string[] {
    const texts = this.#steering.splice(0);
    if (texts.length > 0) this.#show();
    return texts;
  }

  /** The newest input that waits, no longer waiting. `fromTurn`: takes a text from the running turn; false when that has it already. */
  takeBack(fromTurn: (text: string) => boolean | Promise<boolean>): TakenBack {
    const text = this.#queued.pop();
    const pending = this.#steering.at(-1);
    if (text !== undefined) this.#show();
    if (text !== undefined || pending === undefined) return text;
    const isTaken = fromTurn(pending);
    if (typeof isTaken !== "boolean") return isTaken.then((is) => (is ? this.#removed(pending) : undefined));
    return isTaken ? this.#removed(pending) : undefined;
  }

  /** Undefined where the turn has ended meanwhile, and returns its texts. */
  #removed(text: string): string | undefined {
    const at = this.#steering.lastIndexOf(text);
    if (at === -1) return undefined;
    this.#steering.splice(at, 1);
    this.#show();
    return text;
  }

  /** No further input comes. */
  end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }

  /** Ends the wait for an input. */
  wake(): void {
    this.#wake?.();
  }

  /** The next input; undefined at the end and after `wake`. `ready`: called before a wait. */
  async next(ready: () => void): Promise<string | undefined> {
    if (this.#queued.length === 0 && !this.#hasEnded) {
      ready();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    const text = this.#queued.shift();
    if (text !== undefined) this.#show();
    return text;
  }
}
