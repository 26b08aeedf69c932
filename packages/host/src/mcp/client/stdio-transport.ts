/**
 * MCP over the pipes of a program, with limits on the length of a line and on unrequested output. Lines that are not MCP are
 * skipped, since many servers print a greeting.
 */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { PagurusError } from "@pagurus/contract/errors";
import type { ServerChild } from "./mcp-child.ts";

/** Limit of one message. */
const LINE_BYTES = 32 * 1024 * 1024;
/** Limit of all unrequested output between two answers. */
const UNASKED_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;
/** Characters kept of a line that is not MCP, for error sentences. */
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
  /** Ids of requests that are not answered yet. */
  readonly #asked = new Set<string>();
  #reason: string | undefined;
  #garbage = "";
  #closed = false;

  /** `parse` throws for a line that is not a message. */
  constructor(child: ServerChild, parse: (line: string) => JSONRPCMessage) {
    this.#child = child;
    this.#parse = parse;
  }

  /** Why the connection ended, as the end of a sentence that begins with the server; undefined while it is open. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** The first line that was not MCP; empty when there was none. */
  get garbage(): string {
    return this.#garbage;
  }

  async start(): Promise<void> {
    this.#child.input.on("data", (chunk: Buffer) => this.#take(chunk));
    void this.#child.exited.then((how) => this.#over(how));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) throw new PagurusError("mcp_failed", this.#reason ?? "The connection is closed.");
    const { output } = this.#child;
    if (output.destroyed) throw new PagurusError("mcp_failed", "It does not listen any more.");
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
      const what = this.#garbage === "" ? "unrequested messages" : "output that is not MCP";
      return this.#over(`wrote more than ${mebibytes(UNASKED_BYTES)} of ${what} to its standard output`);
    }
    if (message && isAnswer === isAsked) this.#hand(message);
  }

  /** Passes a message to the library. An exception there must not end the process, whose event handler this is. */
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
