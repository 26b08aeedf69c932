/** Standard streams of the client of a forwarded command. */
import { Readable } from "node:stream";
import type { OutputStream } from "../cli.ts";

/** Sends a frame; `done` is called when it is with the system, or never will be. */
export type SendFrame = (letter: string, payload?: string | Uint8Array, done?: () => void) => boolean;

/** Bytes of one frame: the client writes one as a whole before it looks at a signal. */
const PIECE = 64 * 1024;

export interface RemoteOutputOptions {
  letter: "O" | "A";
  send: SendFrame;
  isTTY: boolean;
  columns: number | undefined;
}

export class RemoteOutput implements OutputStream {
  readonly isTTY: boolean;
  readonly #letter: string;
  readonly #send: SendFrame;
  columns: number | undefined;
  lost = false;

  constructor({ letter, send, isTTY, columns }: RemoteOutputOptions) {
    this.#letter = letter;
    this.#send = send;
    this.isTTY = isTTY;
    this.columns = columns;
  }

  write(data: string | Uint8Array, done?: () => void): boolean {
    if (this.lost) {
      done?.();
      return false;
    }
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let at = PIECE; at < bytes.length; at += PIECE)
      this.#send(this.#letter, bytes.subarray(at - PIECE, at));
    const rest = bytes.length % PIECE || Math.min(bytes.length, PIECE);
    return this.#send(this.#letter, bytes.subarray(bytes.length - rest), done);
  }
}

/**
 * Standard input of the client ("0"), or its controlling terminal ("1"): a piece is asked for when the command reads. Emits "silent" when
 * the client has read nothing for a while.
 */
export class RemoteInput extends Readable {
  readonly isTTY: boolean;
  readonly signalsSilence = true;
  readonly #name: string;
  readonly #send: SendFrame;
  #isAsked = false;

  constructor(name: "0" | "1", options: { send: SendFrame; isTTY: boolean }) {
    // One piece at a time, so that what comes later stays with the client.
    super({ highWaterMark: 1 });
    this.#name = name;
    this.#send = options.send;
    this.isTTY = options.isTTY;
    this.on("pause", () => this.#stop()).on("resume", () => this.#again());
  }

  override _read(): void {
    this.#isAsked = true;
    this.#send("P", this.#name);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stop();
    done(error);
  }

  /** A piece has arrived; undefined: the end. */
  receive(piece: Uint8Array | undefined): void {
    this.#isAsked = false;
    if (!this.destroyed) this.push(piece ?? null);
  }

  #stop(): void {
    if (this.#isAsked) this.#send("Q", this.#name);
  }

  #again(): void {
    if (this.#isAsked) this.#send("P", this.#name);
  }
}
