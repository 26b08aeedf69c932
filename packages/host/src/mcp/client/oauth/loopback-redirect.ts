/** The address that a login page sends the browser back to: a server on the loopback for one answer. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

const PAGE = (text: string): string =>
  `<!doctype html><meta charset="utf-8"><title>Pagurus</title><p style="font:1.1em sans-serif;margin:3em">${text}</p>`;

/** The answer of the authorization server, as parameters of the redirect address. */
export type RedirectAnswer = URLSearchParams;

export class LoopbackRedirect {
  readonly #server: Server;
  readonly url: URL;
  readonly #answer = Promise.withResolvers<RedirectAnswer>();
  readonly #isOurs: (answer: RedirectAnswer) => boolean;

  /** Uses any free port if `port` is undefined or in use. `isOurs` ignores requests of others: any program can send one. */
  static async open(
    port: number | undefined,
    isOurs: (answer: RedirectAnswer) => boolean,
  ): Promise<LoopbackRedirect> {
    const server = await listening(port ?? 0).catch(() => listening(0));
    return new LoopbackRedirect(server, isOurs);
  }

  private constructor(server: Server, isOurs: (answer: RedirectAnswer) => boolean) {
    this.#server = server;
    this.#isOurs = isOurs;
    this.url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`);
    server.on("request", (request, response) => {
      const asked = URL.parse(request.url ?? "/", this.url.href);
      const isTaken = asked?.pathname === this.url.pathname && this.#isOurs(asked.searchParams);
      const text = isTaken
        ? "Pagurus has the answer. You can close this page."
        : "This is not the login that Pagurus waits for.";
      response.writeHead(isTaken ? 200 : 400, {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
        "referrer-policy": "no-referrer",
        connection: "close",
      });
      // The server is closed once the answer is taken.
      response.end(PAGE(text), () => asked && isTaken && this.take(asked));
    });
  }

  /** Takes a redirect address, also one that a person pastes. False for one of another login. */
  take(address: URL): boolean {
    if (!this.#isOurs(address.searchParams)) return false;
    this.#answer.resolve(address.searchParams);
    return true;
  }

  /** Resolves with the answer; rejects when the signal fires. */
  async answer(signal: AbortSignal): Promise<RedirectAnswer> {
    const aborted = once(signal, "abort").then(() => Promise.reject(signal.reason as Error));
    aborted.catch(() => undefined);
    signal.throwIfAborted();
    return await Promise.race([this.#answer.promise, aborted]);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

async function listening(port: number): Promise<Server> {
  const server = createServer();
  const failed = once(server, "error").then(([error]) => Promise.reject(error as Error));
  failed.catch(() => undefined);
  server.listen(port, "127.0.0.1");
  await Promise.race([once(server, "listening"), failed]);
  return server;
}
