import { CLEAR_LINE } from "./held-output.ts";
import type { OutputStream, Style } from "./cli.ts";

/** Silence before the first word about it, and between two on a stream that is no terminal, seconds. */
const FIRST_S = 10;
const EVERY_S = 30;

/** Says for what a turn waits while no event comes. */
export class Waiting {
  readonly #stream: OutputStream;
  readonly #style: Style;
  readonly #about: { whom(): string; quiet(): boolean; before(): void };
  readonly #timer: NodeJS.Timeout;
  #since = Date.now();
  /** Second at which a stream that is no terminal is told next. */
  #next = FIRST_S;
  #shown = false;

  /** `whom` names what is waited for; `quiet` says that nothing may be shown now; `before` ends an open line. */
  constructor(
    stream: OutputStream,
    style: Style,
    about: { whom(): string; quiet(): boolean; before(): void },
  ) {
    this.#stream = stream;
    this.#style = style;
    this.#about = about;
    this.#timer = setInterval(() => this.#tick(), 1000);
    // A turn that has ended otherwise must not be kept alive by the talk about it.
    this.#timer.unref();
  }

  /** Something happened: the silence is over. */
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

  #tick(): void {
    // A person who types or is asked is what the turn waits for.
    if (this.#about.quiet()) {
      this.#since = Date.now();
      return;
    }
    const seconds = Math.floor((Date.now() - this.#since) / 1000);
    if (seconds < this.#next) return;
    const text = this.#style("dim", `waiting for ${this.#about.whom()} (${seconds} s)…`);
    if (this.#stream.isTTY === true) {
      if (!this.#shown) this.#about.before();
      this.#stream.write(`${CLEAR_LINE}${text}`);
      this.#shown = true;
    } else {
      this.#stream.write(`${text}\n`);
      this.#next = seconds < EVERY_S ? EVERY_S : this.#next + EVERY_S;
    }
  }
}
