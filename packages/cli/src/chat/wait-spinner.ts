import { CLEAR_LINE } from "../run/held-output.ts";
import { oneLine } from "@pagurus/host/command/layout";
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
}

/** Shows what a turn waits for while no event arrives. */
export class Waiting {
  readonly #stream: OutputStream;
  readonly #style: Style;
  readonly #about: WaitingFor;
  readonly #timer: NodeJS.Timeout;
  #since = Date.now();
  /** Second of the next line on a stream that is not a terminal. */
  #next = FIRST_S;
  #shown = false;
  #picture = 0;

  constructor(stream: OutputStream, style: Style, about: WaitingFor) {
    this.#stream = stream;
    this.#style = style;
    this.#about = about;
    this.#timer = setInterval(() => this.#tick(), about.spin ? SPIN_EVERY_MS : 1000);
    // The timer must not keep a finished turn's process alive.
    this.#timer.unref();
  }

  /** Resets the silence after an event. */
  beat(): void {
    this.#since = Date.now();
    this.#next = FIRST_S;
    if (this.#shown) this.#stream.write(CLEAR_LINE);
    this.#shown = false;
  }

  stop(): void {
    this.beat();
    clearInterval(this.#timer);
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
      this.#since = Date.now();
      return;
    }
    const silent = Date.now() - this.#since;
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
