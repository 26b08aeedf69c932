/** Text as it is written, passed on in whole lines. */
import type { OutputStream } from "../cli.ts";

export class WholeLines implements OutputStream {
  readonly isTTY = true;
  readonly #columns: () => number;
  readonly #take: (text: string) => void;
  #open = "";

  constructor(columns: () => number, take: (text: string) => void) {
    this.#columns = columns;
    this.#take = take;
  }

  get columns(): number {
    return this.#columns();
  }

  write(data: string | Uint8Array, done?: () => void): boolean {
    this.#open += typeof data === "string" ? data : Buffer.from(data).toString("utf8");
    const end = this.#open.lastIndexOf("\n");
    if (end !== -1) this.#take(this.#open.slice(0, end));
    if (end !== -1) this.#open = this.#open.slice(end + 1);
    done?.();
    return true;
  }

  flush(): void {
    if (this.#open !== "") this.#take(this.#open);
    this.#open = "";
  }
}
