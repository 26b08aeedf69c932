/**
 * Answers the adapters in other programs: HTTP with JSON over a Unix socket in the home's private folder, so that a plugin reaches it
 * with the `fetch` of its sandbox.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { chmodSync } from "node:fs";
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { Pagurus } from "@pagurus/contract/host/host";
import { errorText } from "@pagurus/core/data/error-text";
import { countOf, filledString, listOf, parseRecord, stringOf } from "@pagurus/core/data/record-fields";
import type { Logger } from "@pagurus/core/platform/log";
import { AdapterReports } from "./adapter-reports.ts";
import { InsideSession } from "./inside-session.ts";
import { readMessage, type ProgramMessage } from "./program-message.ts";
import { searchWords } from "./recall-words.ts";

/** Version of the requests and answers; an adapter of another one falls back to its program. */
const INSIDE_PROTOCOL = 1;
/** Bytes of one request: a conversation that fills the largest windows has a tenth of it. */
const MOST_BYTES = 64 * 1024 * 1024;
const PROGRAM = /^[a-z][a-z0-9-]{0,31}$/;

export interface InsideServiceOptions {
  home: string;
  /** Path of the socket. */
  socket: string;
  logger: Logger;
  /** Opens the host that keeps the sessions; called at the first request. */
  open(): Promise<Pagurus>;
  /** Called at the beginning of each request; the function that it returns, at its end. The process stays up meanwhile. */
  begin(): () => void;
}

type Body = Record<string, unknown>;

export class InsideService {
  readonly #options: InsideServiceOptions;
  readonly #reports: AdapterReports;
  readonly #sessions = new Map<string, InsideSession>();
  readonly #server: Server;
  #host: Promise<Pagurus> | undefined;

  private constructor(options: InsideServiceOptions) {
    this.#options = options;
    this.#reports = new AdapterReports(options.home);
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** Listens. Throws the system's errors. */
  static async start(options: InsideServiceOptions): Promise<InsideService> {
    const service = new InsideService(options);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    service.#server.once("error", reject).listen(options.socket, resolve);
    await promise;
    chmodSync(options.socket, 0o600);
    return service;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    const host = await this.#host?.catch(() => undefined);
    await host?.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const done = this.#options.begin();
    const operation = (request.url ?? "").replace(/^\/v1\//, "");
    try {
      const body = parseRecord(await textOf(request));
      if (request.method !== "POST" || !body)
        throw new PagurusError(
          "usage_invalid",
          `${request.method} ${request.url} is no request of an adapter.`,
        );
      answer(response, 200, await this.#answer(operation, body));
    } catch (error) {
      const { code, message } = toPagurusError(error);
      if (!isPagurusError(error))
        this.#options.logger.warn("an adapter's request failed", { operation, code });
      answer(response, code === "internal" ? 500 : 409, { error: { code, message } });
    } finally {
      done();
    }
  }

  async #answer(operation: string, body: Body): Promise<object> {
    const program = filledString(body["program"]) ?? "";
    if (!PROGRAM.test(program)) throw new PagurusError("usage_invalid", "The request names no program.");
    if (operation === "hello") return this.#hello(program, body);
    if (operation === "report") return this.#report(program, body);
    const { session, sessionKey, cwd } = await this.#session(program, body);
    const pagurus = await this.#opened();
    const at = { pagurus, sessionKey, cwd };
    switch (operation) {
      case "compact": {
        const focus = filledString(body["focus"]);
        const made = body["messages"]
          ? await session.compact(messagesOf(body), focus)
          : await session.compactStored(focus);
        this.#reports.compacted(program);
        return made;
      }
      case "commit":
        return session.commit(wordOf(body, "key"), messagesOf(body));
      case "context":
        return session.context(messagesOf(body));
      case "append":
        return session.append(messagesOf(body), body["isWhole"] === true);
      case "result":
        return { id: await session.keepResult(wordOf(body, "callId"), wordOf(body, "text")) };
      case "recall":
        // Without a compaction all messages are in sight.
        return {
          text: (await session.hasCompacted())
            ? await pagurus.context.recall({ sessionKey, cwd, prompt: wordOf(body, "prompt") })
            : "",
        };
      case "search":
        return {
          text: await searchWords(at, {
            query: wordOf(body, "query"),
            isCompacted: await session.hasCompacted(),
          }),
        };
      case "expand": {
        const id = wordOf(body, "id");
        const text = await session.expand(id);
        if (text === undefined)
          throw new PagurusError("entry_not_found", `This conversation has no entry ${JSON.stringify(id)}.`);
        return { text };
      }
      case "pin":
        return { text: await pagurus.command({ name: "pin", args: stringOf(body["id"]), sessionKey, cwd }) };
      case "left-out":
        return { left: (await session.leftOut()) ?? null };
      default:
        throw new PagurusError("usage_invalid", `Adapters have no request ${JSON.stringify(operation)}.`);
    }
  }

  #hello(program: string, body: Body): object {
    this.#reports.seen(program, stringOf(body["version"]));
    // The first request finds the host open.
    this.#opened().catch(() => undefined);
    return { protocol: INSIDE_PROTOCOL };
  }

  #report(program: string, body: Body): object {
    const hook = stringOf(body["hook"]).slice(0, 40);
    const reason = stringOf(body["reason"]).slice(0, 200);
    this.#reports.fellBack(program, hook, reason, countOf(body["count"]) ?? 1);
    this.#options.logger.warn("an adapter fell back to its program", { program, hook });
    return {};
  }

  #opened(): Promise<Pagurus> {
    this.#host ??= this.#options.open().catch((error: unknown) => {
      this.#host = undefined;
      throw new PagurusError("internal", `The host of the adapters cannot start: ${errorText(error)}.`, {
        cause: error,
      });
    });
    return this.#host;
  }

  async #session(
    program: string,
    body: Body,
  ): Promise<{ session: InsideSession; sessionKey: string; cwd: string }> {
    const name = [wordOf(body, "session"), filledString(body["agent"])].filter(Boolean).join("/");
    const sessionKey = `inside/${program}/${name}`;
    const cwd = wordOf(body, "cwd");
    const pagurus = await this.#opened();
    const known = this.#sessions.get(sessionKey) ?? new InsideSession(pagurus, { sessionKey, cwd });
    this.#sessions.set(sessionKey, known);
    return { session: known, sessionKey, cwd };
  }
}

function wordOf(body: Body, key: string): string {
  const value = filledString(body[key]);
  if (value !== undefined) return value;
  throw new PagurusError("usage_invalid", `The request of the adapter has no ${key}.`);
}

function messagesOf(body: Body): ProgramMessage[] {
  return listOf(body["messages"]).map((value, index) => {
    const message = readMessage(value);
    if (message) return message;
    throw new PagurusError("usage_invalid", `Message ${index} of the adapter's request is none.`);
  });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    const bytes = piece as Buffer;
    size += bytes.length;
    if (size > MOST_BYTES)
      throw new PagurusError(
        "body_too_long",
        `The request of the adapter has more than ${MOST_BYTES} bytes.`,
      );
    pieces.push(bytes);
  }
  return Buffer.concat(pieces).toString();
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
