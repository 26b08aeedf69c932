import type { OutputStream } from "./cli.ts";

/** Clears the line of the terminal that the cursor stands in. */
export const CLEAR_LINE = "\r\u001b[K";

function endsLine(data: string | Uint8Array): boolean {
  if (typeof data !== "string") return data.at(-1) === 10;
  return data.endsWith("\n") || data.endsWith(CLEAR_LINE);
}

/** Writers of one terminal whose output waits while a person types or is asked something, and then follows in order. */
export class HeldOutput {
  #held: (() => void)[] = [];
  #holding = false;
  /** The cursor stands behind output that has no newline yet. */
  lineOpen = false;

  get holding(): boolean {
    return this.#holding;
  }

  hold(): void {
    this.#holding = true;
  }

  /** Writes what was held back; what follows is written at once again. */
  release(): void {
    this.#holding = false;
    const held = this.#held;
    this.#held = [];
    for (const act of held) act();
  }

  /** Moves the cursor to a line of its own. */
  endLine(terminal: OutputStream): void {
    if (this.lineOpen) terminal.write("\n");
    this.lineOpen = false;
  }

  writer(stream: OutputStream): OutputStream {
    return {
      isTTY: stream.isTTY,
      columns: stream.columns,
      write: (data, done) => {
        const act = (): void => {
          stream.write(data, done);
          if (stream.isTTY === true && data.length > 0) this.lineOpen = !endsLine(data);
        };
        if (this.#holding) this.#held.push(act);
        else act();
        return true;
      },
    };
  }
}
