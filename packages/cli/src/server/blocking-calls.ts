/**
 * Requests that the caller waits for without leaving its function: a session store answers at once, from a server as from its file.
 * A thread sends them.
 */
import { extname } from "node:path";
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from "node:worker_threads";
import type { HttpCall } from "@pagurus/client/http-requests";
import { PagurusError, type ErrorCode } from "@pagurus/contract/errors";
import type { ServerSecret } from "./server-secret.ts";

export interface BlockingStart {
  connection: { url: string; secret: ServerSecret; retryMs: number };
  port: MessagePort;
  /** 1 when there is an answer. */
  answered: Int32Array;
}

export type BlockingReply = { value: unknown } | { error: { code: ErrorCode; message: string } };

/** How long an answer is waited for, ms. */
const LONGEST_MS = 120_000;

export class BlockingCalls {
  readonly #connection: BlockingStart["connection"];
  #thread: { worker: Worker; port: MessagePort; answered: Int32Array } | undefined;

  constructor(connection: BlockingStart["connection"]) {
    this.#connection = connection;
  }

  /** Throws the server's error, `server_failed`. */
  json<T>(call: HttpCall): T {
    this.#thread ??= this.#begin();
    const { port, answered } = this.#thread;
    Atomics.store(answered, 0, 0);
    port.postMessage(call);
    Atomics.wait(answered, 0, 0, LONGEST_MS);
    const reply = receiveMessageOnPort(port)?.message as BlockingReply | undefined;
    if (!reply)
      throw new PagurusError(
        "server_failed",
        `The server at ${this.#connection.url} did not answer within ${LONGEST_MS / 1_000} s; look into its log.`,
      );
    if ("error" in reply) throw new PagurusError(reply.error.code, reply.error.message);
    return reply.value as T;
  }

  #begin(): { worker: Worker; port: MessagePort; answered: Int32Array } {
    const { port1, port2 } = new MessageChannel();
    const answered = new Int32Array(new SharedArrayBuffer(4));
    const start: BlockingStart = { connection: this.#connection, port: port2, answered };
    // Works for sources and for built files: the worker has the same file extension as this file.
    const worker = new Worker(new URL(`./blocking-worker${extname(import.meta.url)}`, import.meta.url), {
      workerData: start,
      transferList: [port2],
    });
    worker.unref();
    return { worker, port: port1, answered };
  }

  async close(): Promise<void> {
    this.#thread?.port.close();
    await this.#thread?.worker.terminate();
    this.#thread = undefined;
  }
}
