/** A model endpoint on this machine that answers one request strangely, and each later one with a plain answer. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { plainFrames, STREAM, streamText, type StrangeAnswer } from "./strange-answer.ts";

/** What the model says after the result of a call. */
const LATER_TEXT = "That is all.";
/** Requests that are answered; a client that asks more often pays for what cannot change. */
const MOST_REQUESTS = 3;

export class StrangeEndpoint {
  /** Number of requests so far. */
  requests = 0;
  #answer: StrangeAnswer | undefined;
  readonly #server = createServer((request, response) => this.#respond(request, response));

  /** The address, without a path. */
  async open(): Promise<string> {
    // A client may ask again after a pause of any length, on the same connection.
    this.#server.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The answer to the next request. */
  answerWith(answer: StrangeAnswer): void {
    this.requests = 0;
    this.#answer = answer;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #respond(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    request.once("end", () => {
      const answer = this.#answer;
      if (request.method !== "POST" || !answer) {
        response.writeHead(404).end();
        return;
      }
      this.requests += 1;
      const isLater = this.requests > 1 && answer.status < 400 && answer.right.error === undefined;
      const later = isLater && (answer.right.calls?.length ?? 0) > 0;
      if (later && this.requests <= MOST_REQUESTS) {
        response.writeHead(200, STREAM).end(streamText(plainFrames(answer.protocol, { text: LATER_TEXT })));
        return;
      }
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
  }
}
