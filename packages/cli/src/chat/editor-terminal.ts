import { Writable } from "node:stream";
import type { OutputStream } from "../cli.ts";

/**
 * The terminal as the line editor sees it. A resize reaches the editor only while its line is shown: otherwise it would draw a
 * prompt into the streaming text.
 */
export class EditorTerminal extends Writable {
  readonly isTTY = true;
  readonly #terminal: OutputStream;
  readonly #onResize: () => void;

  /** `shown` returns whether the editor's line is on the terminal, and prepares a redraw. */
  constructor(terminal: OutputStream, shown: () => boolean) {
    super({ decodeStrings: false });
    this.#terminal = terminal;
    this.#onResize = () => {
      if (shown()) this.emit("resize");
    };
    this.#events()?.on("resize", this.#onResize);
  }

  get columns(): number | undefined {
    return this.#terminal.columns;
  }

  override _write(data: string | Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    this.#terminal.write(data);
    done();
  }

  /** Stops following the terminal. */
  release(): void {
    this.#events()?.off("resize", this.#onResize);
  }

  /** The terminal as an event emitter, if it is one: Node's announces its resizes; other streams may not. */
  #events(): NodeJS.EventEmitter | undefined {
    return "on" in this.#terminal && "off" in this.#terminal
      ? (this.#terminal as unknown as NodeJS.EventEmitter)
      : undefined;
  }
}
