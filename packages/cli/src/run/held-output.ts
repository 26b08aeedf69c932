import { stripVTControlCharacters } from "node:util";
import { textWidth } from "@pagurus/host/command/layout";
import type { OutputStream } from "../cli.ts";

/** Clears the terminal line at the cursor. */
export const CLEAR_LINE = "\r\u001b[K";

/** Clears a line that wraps over several rows, the cursor in the last one. */
function clearRows(rows: number): string {
  return rows > 1 ? `\u001b[${rows - 1}A\r\u001b[J` : CLEAR_LINE;
}

function endsLine(data: string | Uint8Array): boolean {
  if (typeof data !== "string") return data.at(-1) === 10;
  return data.endsWith("\n") || data.endsWith(CLEAR_LINE);
}

/** Writers of one terminal whose output is buffered while a person types or a question is open, and then written in order. */
export class HeldOutput {
  #held: (() => void)[] = [];
  #holding = false;
  /** Columns of a temporary line, such as a spinner, which is cleared before other output. */
  #passing = 0;
  /** The cursor is after output without a newline. */
  lineOpen = false;

  get holding(): boolean {
    return this.#holding;
  }

  hold(): void {
    this.#holding = true;
  }

  /** Writes the buffered output; later output is written at once again. */
  release(): void {
    this.#holding = false;
    const held = this.#held;
    this.#held = [];
    for (const act of held) act();
  }

  /** Moves the cursor to a new line. */
  endLine(terminal: OutputStream): void {
    if (this.#passing > 0) terminal.write(this.#cleared(terminal));
    else if (this.lineOpen) terminal.write("\n");
    this.lineOpen = false;
  }

  #cleared(terminal: OutputStream): string {
    const rows = Math.ceil(this.#passing / (terminal.columns ?? Infinity));
    this.#passing = 0;
    return clearRows(rows);
  }

  /** Writes or buffers. A text that begins by clearing its line and has no newline is temporary. */
  #show(stream: OutputStream, data: string | Uint8Array, done: (() => void) | undefined): void {
    if (stream.isTTY !== true || data.length === 0) return void stream.write(data, done);
    const replaces = typeof data === "string" && data.startsWith(CLEAR_LINE);
    if (this.#passing > 0) stream.write(this.#cleared(stream));
    if (replaces && data !== CLEAR_LINE)
      this.#passing = textWidth(stripVTControlCharacters(data.slice(CLEAR_LINE.length)));
    this.lineOpen = !endsLine(data);
    stream.write(data, done);
    return undefined;
  }

  writer(stream: OutputStream): OutputStream {
    return {
      isTTY: stream.isTTY,
      // A terminal can be resized.
      get columns() {
        return stream.columns;
      },
      write: (data, done) => {
        const act = (): void => this.#show(stream, data, done);
        if (this.#holding) this.#held.push(act);
        else act();
        return true;
      },
    };
  }
}
