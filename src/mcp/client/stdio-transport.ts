/**
 * MCP over the pipes of a program, with bounds: a line has a longest length, and what nobody asked for must not drown the
 * host. Lines that are no MCP are left out, since many servers print a greeting.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { ServerChild } from "./child.ts";

/** Of one message. */
const LINE_BYTES = 32 * 1024 * 1024;
/** Of all that comes between two answers and is none. */
const UNASKED_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;
/** Characters of a line that is no MCP, for a sentence. */
const KEPT_CHARACTERS = 4_096;

function mebibytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MiB`;
}

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #child: ServerChild;
  readonly #parse: (line: string) => JSONRPCMessage;
  #parts: Buffer[] = [];
  #held = 0;
  #unasked = 0;
  /** Ids of requests that were not answered yet. */
  readonly #asked = new Set<string>();
  #reason: string | undefined;
  #garbage = "";
  #closed = false;

  /** `parse` throws for a line that is no message. */
  constructor(child: ServerChild, parse: (line: string) => JSONRPCMessage) {
    this.#child = child;
    this.#parse = parse;
  }

  /** Why it is over, as the end of a sentence that begins with the server; undefined while it is not. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** The first line that was no MCP; empty when there was none. */
  get garbage(): string {
    return this.#garbage;
  }

  async start(): Promise<void> {
    this.#child.input.on("data", (chunk: Buffer) => this.#take(chunk));
    void this.#child.exited.then((how) => this.#over(how));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) throw new Error(this.#reason ?? "The connection is closed.");
    const { output } = this.#child;
    if (output.destroyed) throw new Error("It does not listen any more.");
    if ("method" in message && "id" in message) this.#asked.add(String(message.id));
    if (output.write(`${JSON.stringify(message)}\n`)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        output.off("drain", done);
        output.off("close", done);
        resolve();
      };
      output.once("drain", done);
      output.once("close", done);
    });
  }

  async close(): Promise<void> {
    this.#over();
    await this.#child.end();
  }

  #over(reason?: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#reason ??= reason;
    this.#parts = [];
    void this.#child.end();
    this.onclose?.();
  }

  #take(chunk: Buffer): void {
    let from = 0;
    while (!this.#closed) {
      const end = chunk.indexOf(NEWLINE, from);
      const part = chunk.subarray(from, end === -1 ? chunk.length : end);
      this.#held += part.length;
      if (this.#held > LINE_BYTES) return this.#over(`wrote a line of more than ${mebibytes(LINE_BYTES)}`);
      if (part.length > 0) this.#parts.push(part);
      if (end === -1) return;
      this.#line(Buffer.concat(this.#parts).toString("utf8"), this.#held);
      this.#parts = [];
      this.#held = 0;
      from = end + 1;
    }
  }

  #line(line: string, bytes: number): void {
    if (line.trim() === "") return;
    const message = this.#message(line);
    const isAnswer = message !== undefined && !("method" in message);
    const isAsked = isAnswer && this.#asked.delete(String(message.id));
    this.#unasked = isAsked ? 0 : this.#unasked + bytes;
    if (this.#unasked > UNASKED_BYTES) {
      const what = this.#garbage === "" ? "messages that nobody asked for" : "what is no MCP";
      return this.#over(`wrote more than ${mebibytes(UNASKED_BYTES)} of ${what} to its standard output`);
    }
    if (message && isAnswer === isAsked) this.#hand(message);
  }

  /** What the library cannot digest must not end the process, in whose event this is. */
  #hand(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message);
    } catch {
      this.#over("wrote a message that cannot be read");
    }
  }

  #message(line: string): JSONRPCMessage | undefined {
    try {
      return this.#parse(line);
    } catch {
      if (this.#garbage === "") this.#garbage = line.trim().slice(0, KEPT_CHARACTERS);
      return undefined;
    }
  }
}
