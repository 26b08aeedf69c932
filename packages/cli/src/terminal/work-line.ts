/** The line above the input about the work that runs: `⠋ shell (12 s · Esc interrupts · Tab queues)`. */
import { Container, Loader, Spacer, type TUI } from "@earendil-works/pi-tui";
import type { Theme } from "./theme.ts";

export class WorkLine extends Container {
  readonly #tui: TUI;
  readonly #theme: Theme;
  #loader: Loader | undefined;
  #began = 0;
  #words = "";
  #ticking: NodeJS.Timeout | undefined;

  constructor(tui: TUI, theme: Theme) {
    super();
    this.#tui = tui;
    this.#theme = theme;
  }

  get isShown(): boolean {
    return this.#loader !== undefined;
  }

  /** `words`: the work, for example `shell`; undefined: none runs. The time counts from the first words. */
  show(words: string | undefined): void {
    if (words === undefined) {
      this.#loader?.stop();
      this.#loader = undefined;
      clearInterval(this.#ticking);
      return this.clear();
    }
    this.#words = words;
    if (!this.#loader) {
      this.#began = performance.now();
      this.#loader = new Loader(this.#tui, this.#theme.accent, this.#theme.dim, "");
      this.addChild(new Spacer(1));
      this.addChild(this.#loader);
      this.#loader.start();
      this.#ticking = setInterval(() => this.#tick(), 1_000).unref();
    }
    return this.#tick();
  }

  #tick(): void {
    const seconds = Math.floor((performance.now() - this.#began) / 1_000);
    this.#loader?.setMessage(`${this.#words} (${seconds} s · Esc interrupts · Tab queues)`);
  }
}
