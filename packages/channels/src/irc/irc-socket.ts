/** A connection to an IRC server: lines in and out, at the pace that servers allow. */
import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "@pagurus/core/data/clock";
import { sleep } from "@pagurus/core/platform/deadline";
import { formatLine, parseLine, type IrcLine } from "./irc-line.ts";
import type { IrcSettings } from "./irc-settings.ts";

/** Longest line: tags of 8,191 bytes and 512 more. */
const MOST_BYTES = 8_191 + 512;
/** Lines that may be sent at once. */
const BURST = 5;
/** Interval of our pings, and the time after which a silent server counts as gone, ms. */
const PING_MS = 60_000;
const ANSWER_MS = 30_000;
/** Lines that are kept while an answer is awaited. */
const MOST_WAITING_LINES = 2_000;

export class IrcSocket {
  /** Resolves with the reason when the connection has ended. */
  readonly ended: Promise<string>;
  readonly #socket: Socket;
  readonly #listeners = new Set<(line: IrcLine) => void>();
  readonly #linesPerSecond: number;
  readonly #clock: Clock;
  readonly #gone = new AbortController();
  #end: (reason: string) => void = () => undefined;
  #input: Buffer = Buffer.alloc(0);
  /** Whether the rest of a line that is too long is dropped. */
  #isSkipping = false;
  #sending: Promise<void> = Promise.resolve();
  #allowance = BURST;
  #countedAt: number;
  #pings = 0;

  constructor({ host, port, isTls, linesPerSecond }: IrcSettings, clock: Clock) {
    this.#linesPerSecond = linesPerSecond;
    this.#clock = clock;
    this.#countedAt = clock.ticks();
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    const servername = isIP(host) === 0 ? { servername: host } : {};
    this.#socket = isTls ? connectTls({ host, port, ...servername }) : connectPlain({ host, port });
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("error", (error) => this.close(error.message));
    this.#socket.on("close", () => this.close("the connection was cut"));
    const ping = (): void => void this.ping().catch(() => undefined);
    void this.ended.then(clock.every(PING_MS, ping, { ref: false }));
  }

  get isOpen(): boolean {
    return !this.#gone.signal.aborted;
  }

  /** Throws the reason when the connection has ended. */
  throwIfEnded(): void {
    this.#gone.signal.throwIfAborted();
  }

  #read(chunk: Buffer): void {
    this.#input = Buffer.concat([this.#input, chunk]);
    for (let at = this.#input.indexOf(10); at >= 0 && this.isOpen; at = this.#input.indexOf(10)) {
      const bytes = this.#input.subarray(0, at);
      this.#input = this.#input.subarray(at + 1);
      const isRest = this.#isSkipping;
      this.#isSkipping = false;
      if (!isRest && bytes.length <= MOST_BYTES) this.#take(bytes.toString("utf8").replace(/\r$/, ""));
    }
    if (this.#input.length <= MOST_BYTES) return;
    this.#isSkipping = true;
    this.#input = Buffer.alloc(0);
  }

  #take(text: string): void {
    const line = parseLine(text);
    if (!line) return;
    if (line.command === "PING") this.#write(formatLine("PONG", line.params.at(-1) ?? ""));
    for (const listener of this.#listeners) listener(line);
    if (line.command === "ERROR") this.close(line.params.at(-1) ?? "the server ended the connection");
  }

  /** Calls for each line, in order; returns the function that ends it. */
  listen(listener: (line: IrcLine) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #write(line: string): void {
    if (this.isOpen) this.#socket.write(`${line}\r\n`);
  }

  /** Sends without a pause, while the server does not count lines. */
  now(command: string, ...params: readonly string[]): void {
    this.#write(formatLine(command, ...params));
  }

  /** Resolves when the line was passed on, after those before it and a pause. Throws when the connection has ended. */
  send(command: string, ...params: readonly string[]): Promise<void> {
    const line = formatLine(command, ...params);
    const sent = this.#sending.then(async () => {
      await this.#turn();
      this.#write(line);
    });
    this.#sending = sent.catch(() => undefined);
    return sent;
  }

  async #turn(): Promise<void> {
    this.#count();
    if (this.#allowance < 1)
      await sleep(((1 - this.#allowance) / this.#linesPerSecond) * 1_000, this.#gone.signal, this.#clock);
    this.#gone.signal.throwIfAborted();
    this.#count();
    this.#allowance -= 1;
  }

  #count(): void {
    const now = this.#clock.ticks();
    const more = ((now - this.#countedAt) / 1_000) * this.#linesPerSecond;
    this.#allowance = Math.min(BURST, this.#allowance + more);
    this.#countedAt = now;
  }

  /**
   * Sends lines, and collects what arrives until `isLast`. Throws when the connection ends; a server that does not answer within
   * half a minute ends it.
   */
  async ask(
    lines: readonly (readonly [string, ...string[]])[],
    isLast: (line: IrcLine) => boolean,
  ): Promise<IrcLine[]> {
    const found: IrcLine[] = [];
    const done = Promise.withResolvers<void>();
    done.promise.catch(() => undefined);
    const stop = this.listen((line) => {
      if (found.length < MOST_WAITING_LINES) found.push(line);
      if (isLast(line)) done.resolve();
    });
    const gone = (): void => done.reject(this.#gone.signal.reason);
    this.#gone.signal.addEventListener("abort", gone, { once: true });
    let cancel: (() => void) | undefined;
    try {
      for (const line of lines) await this.send(...line);
      cancel = this.#clock.after(ANSWER_MS, () => this.close("the server does not answer"));
      await done.promise;
      return found;
    } finally {
      cancel?.();
      stop();
      this.#gone.signal.removeEventListener("abort", gone);
    }
  }

  /** Sends lines and resolves when the server has worked through them, with what it sent meanwhile. Throws as `ask`. */
  async settle(lines: readonly (readonly [string, ...string[]])[]): Promise<IrcLine[]> {
    this.#pings += 1;
    const token = `pagurus-${this.#pings}`;
    return this.ask(
      [...lines, ["PING", token]],
      ({ command, params }) => command === "PONG" && params.at(-1) === token,
    );
  }

  /** Throws when the connection has ended. */
  async ping(): Promise<void> {
    await this.settle([]);
  }

  /** Ends the connection, with the reason; the first one counts. Never throws. */
  close(reason: string): void {
    if (!this.isOpen) return;
    this.#gone.abort(new Error(reason));
    this.#socket.end();
    this.#socket.destroySoon();
    this.#end(reason);
  }
}
