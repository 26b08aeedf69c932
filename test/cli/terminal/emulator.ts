/** A terminal in memory, for the views that draw on one. */
import xterm from "@xterm/headless";
import type { Terminal } from "@earendil-works/pi-tui";

type Emulated = InstanceType<typeof xterm.Terminal>;

export class Emulator implements Terminal {
  readonly kittyProtocolActive = false;
  readonly #screen: Emulated;
  #onInput: (data: string) => void = () => undefined;
  #onResize: () => void = () => undefined;
  /** Bytes written so far. */
  written = 0;

  constructor(columns = 80, rows = 24) {
    this.#screen = new xterm.Terminal({ cols: columns, rows, scrollback: 200_000, allowProposedApi: true });
  }

  get columns(): number {
    return this.#screen.cols;
  }

  get rows(): number {
    return this.#screen.rows;
  }

  start(onInput: (data: string) => void, onResize: () => void): void {
    this.#onInput = onInput;
    this.#onResize = onResize;
  }

  stop(): void {
    this.#onInput = () => undefined;
  }

  drainInput(): Promise<void> {
    return Promise.resolve();
  }

  write(data: string): void {
    this.written += data.length;
    this.#screen.write(data);
  }

  moveBy(): void {}
  hideCursor(): void {}
  showCursor(): void {}
  clearLine(): void {}
  clearFromCursor(): void {}
  clearScreen(): void {}
  setTitle(): void {}
  setProgress(): void {}
  setProgramStatus(): void {}

  /** Keys as the terminal sends them. */
  type(keys: string): void {
    this.#onInput(keys);
  }

  resize(columns: number, rows: number): void {
    this.#screen.resize(columns, rows);
    this.#onResize();
  }

  /** All lines, from the oldest of the scrollback. */
  async lines(): Promise<string[]> {
    await new Promise<void>((resolve) => this.#screen.write("", resolve));
    const { active } = this.#screen.buffer;
    return Array.from(
      { length: active.length },
      (_, row) => active.getLine(row)?.translateToString(true) ?? "",
    );
  }

  /** The lines on the screen. */
  async screen(): Promise<string[]> {
    return (await this.lines()).slice(-this.rows);
  }
}
