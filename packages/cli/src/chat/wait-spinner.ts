import { CLEAR_LINE } from "../run/held-output.ts";
import { oneLine } from "@pagurus/host/command/layout";
import { SYSTEM_CLOCK, type Clock } from "@pagurus/core/data/clock";
import type { OutputStream, Style } from "../cli.ts";

/** Silence before the first waiting line, and between two on a stream that is not a terminal, seconds. */
const FIRST_S = 10;
const EVERY_S = 30;
/** Silence before a spinner appears, and interval between its frames, ms. */
const SPIN_AFTER_MS = 400;
const SPIN_EVERY_MS = 120;
const PICTURES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

interface WaitingFor {
  /** Name of what the turn waits for. */
  whom(): string;
  /** Whether nothing may be shown now. */
  quiet(): boolean;
  /** Whether a line of text is open, which a spinner would end. */
  open(): boolean;
  /** Ends an open line. */
  before(): void;
  /** Whether to show a spinner at once; absent: a line after a while. */
  spin: boolean;
  /** Default: the machine's. */
  clock?: Clock | undefined;
}

/** Shows what a turn waits for while no event arrives. */
export class Waiting {
  readonly #stream: OutputStream;
  readonly #style: Style;
  readonly #about: WaitingFor;
  readonly #clock: Clock;
  readonly #cancel: () => void;
  #since: number;
  /** Second of the next line on a stream that is not a terminal. */
  #next = FIRST_S;
  #shown = false;
  #picture = 0;

  constructor(stream: OutputStream, style: Style, about: WaitingFor) {
    this.#stream = stream;
    this.#style = style;
    this.#about = about;
    this.#clock = about.clock ?? SYSTEM_CLOCK;
    this.#since = this.#clock.ticks();
    // The timer must not keep a finished turn's process alive.
    this.#cancel = this.#clock.every(about.spin ? SPIN_EVERY_MS : 1000, () => this.#tick(), { ref: false });
  }

  /** Resets the silence after an event. */
  beat(): void {
    this.#since = this.#clock.ticks();
    this.#next = FIRST_S;
    if (this.#shown) this.#stream.write(CLEAR_LINE);
    this.#shown = false;
  }

  stop(): void {
    this.beat();
    this.#cancel();
  }

  /** The spinner line, within one terminal row. */
  #spinner(words: string): string {
    this.#picture = (this.#picture + 1) % PICTURES.length;
    const most = Math.max(1, (this.#stream.columns ?? 80) - 3);
    const picture = this.#style("cyan", PICTURES.charAt(this.#picture));
    return `${picture} ${this.#style("dim", oneLine(words, most))}`;
  }

  #tick(): void {
    // The turn waits for a person who types or answers a question.
    if (this.#about.quiet()) {
      this.#since = this.#clock.ticks();
      return;
    }
    const silent = this.#clock.ticks() - this.#since;
    const seconds = Math.floor(silent / 1000);
    const spins = this.#about.spin && silent >= SPIN_AFTER_MS && !this.#about.open();
    if (seconds < this.#next && !spins) return;
    const words = `waiting for ${this.#about.whom()} (${seconds} s)…`;
    const text = this.#style("dim", words);
    if (this.#stream.isTTY === true) {
      if (!this.#shown) this.#about.before();
      this.#stream.write(`${CLEAR_LINE}${this.#about.spin ? this.#spinner(words) : text}`);
      this.#shown = true;
    } else {
      this.#stream.write(`${text}\n`);
      this.#next = seconds < EVERY_S ? EVERY_S : this.#next + EVERY_S;
    }
  }
}
