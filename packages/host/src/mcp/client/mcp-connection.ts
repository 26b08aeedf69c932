/** One live connection to a server, from start to end. */
import { errorText } from "@pagurus/core/data/error-text";
import { isDeepStrictEqual } from "node:util";
import type * as Mcp from "@modelcontextprotocol/client";
import { LONGEST_TIMER_MS, orAborted } from "@pagurus/core/platform/deadline";
import { packageVersion } from "@pagurus/core/platform/package-version";
import { CallClock, type Late } from "./call-clock.ts";
import type { Answer } from "./elicitation.ts";
import { ServerChild } from "./mcp-child.ts";
import { MOST_PAGES } from "./mcp-catalog.ts";
import { ElementTransport, movedFields, readableEnvelope } from "./element-transport.ts";
import { httpTransport, serverFetch } from "./http-transport.ts";
import type { LoginStore } from "./oauth/login-store.ts";
import { LoginNeeded } from "./oauth/login-errors.ts";
import { SilentLogin } from "./oauth/silent-login.ts";
import type { CallAnswer } from "./mcp-result.ts";
import type { ServerSettings } from "./mcp-settings.ts";
import { StdioTransport } from "./stdio-transport.ts";
import { cleanLine } from "./mcp-words.ts";

/** Timeout of the ping to a server whose call timed out, ms. */
const MCP_PING_MS = 5_000;
/** Added to the timeout of a start, whose signal has the better message, ms. */
const AFTER_MS = 1_000;
/** Characters quoted from a server's message. */
const WORDS_CHARACTERS = 500;
/** Characters quoted from an output line that is not MCP. */
const MOST_QUOTED = 100;

/** Error codes of a connection over which nothing was sent. */
const NOT_SENT = new Set(
  "ECONNREFUSED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH UND_ERR_CONNECT_TIMEOUT".split(" "),
);

/** Why a server could not be reached or did not answer. The message is the end of a sentence that begins with the server's name. */
export class ServerFailure extends Error {
  /** It is unknown whether the call had an effect. */
  readonly unsure: boolean;
  /** The server no longer knows this client; the call had no effect. */
  readonly forgotten: boolean;
  /** There was no sign of life for the whole timeout. */
  readonly silent: boolean;

  constructor(message: string, options: { unsure?: boolean; forgotten?: boolean; silent?: boolean } = {}) {
    super(message);
    this.unsure = options.unsure === true;
    this.forgotten = options.forgotten === true;
    this.silent = options.silent === true;
  }
}

function cut(line: string, most: number): string {
  return line.length > most ? `${line.slice(0, most).toWellFormed()}…` : line;
}

/** The tools that a server lists, unchecked. */
export interface Listing {
  tools: unknown[];
  /** False when it has more pages than we read. */
  isWhole: boolean;
}

/** The stored login of a server that the user's own configuration names. */
export interface ConnectionLogin {
  store: LoginStore;
  /** Command that makes one, for sentences. */
  command: string;
}

export interface ConnectionEvents {
  /** The server reports that its tools have changed. */
  toolsChanged(): void;
  /** Called once when the connection ends without `close`. */
  lost(reason: string): void;
  /** The server asks the person for something. Never rejects. */
  asked(params: Mcp.ElicitRequestParams, signal: AbortSignal): Promise<Answer>;
}

export class Connection {
  readonly #library: typeof Mcp;
  readonly #settings: ServerSettings;
  readonly #client: Mcp.Client;
  readonly #transport: Mcp.Transport;
  /** The transport as the library sees it. */
  readonly #outer: ElementTransport;
  readonly #login: SilentLogin | undefined;
  readonly #remedy: string;
  /** Of the open calls. */
  readonly #clocks = new Set<CallClock>();
  #child: ServerChild | undefined;
  #closed = false;
  #ready = false;

  /**
   * Starts the program or connects to the address, and completes the handshake. Throws `ServerFailure`, also when the signal
   * fires; no process is left then.
   */
  static async open(
    settings: ServerSettings,
    events: ConnectionEvents,
    signal: AbortSignal,
    login?: ConnectionLogin,
  ): Promise<Connection> {
    const loading = import("@modelcontextprotocol/client");
    // Rejects where it is awaited below; a program that cannot be started is the better reason.
    loading.catch(() => undefined);
    let child: ServerChild | undefined;
    let connection: Connection | undefined;
    try {
      const { transport } = settings;
      // The program and the library load in parallel.
      if (transport.kind === "stdio") child = await ServerChild.start(transport, settings.secrets);
      connection = new Connection(await loading, settings, { child, events, login });
      // Not every request of the library's handshake obeys the signal.
      const handshake = connection.#handshake(signal);
      handshake.catch(() => undefined);
      await orAborted(handshake, signal);
      connection.#ready = true;
      return connection;
    } catch (error) {
      const failure =
        connection?.failureOf(error, signal) ?? new ServerFailure(startFailure(error, settings));
      await connection?.close();
      await child?.end();
      throw failure;
    }
  }

  private constructor(
    library: typeof Mcp,
    settings: ServerSettings,
    {
      child,
      events,
      login,
    }: {
      child: ServerChild | undefined;
      events: ConnectionEvents;
      login: ConnectionLogin | undefined;
    },
  ) {
    const { transport } = settings;
    this.#library = library;
    this.#settings = settings;
    this.#child = child;
    const usesLogin = login && transport.kind !== "stdio" && transport.oauth.enabled;
    this.#remedy = usesLogin ? login.command : 'set "headers" with what it asks for';
    if (usesLogin) {
      const fetch = serverFetch(transport, { forLogin: true });
      this.#login = new SilentLogin({ library, store: login.store, oauth: transport.oauth, fetch });
    }
    this.#transport =
      child || transport.kind === "stdio"
        ? new StdioTransport(child as ServerChild, (line) => readLine(library, line))
        : httpTransport(library, transport, this.#login);
    const info = { name: "pagurus", version: packageVersion() };
    this.#client = new library.Client(info, {
      capabilities: { elicitation: { form: { applyDefaults: true }, url: {} } },
      // A program that does not know the newest revision may not answer the version request at all.
      ...(transport.kind === "http" ? { versionNegotiation: { mode: "auto" } } : {}),
    });
    this.#client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) => {
      for (const clock of this.#clocks) clock.pause();
      try {
        return await events.asked(params, mcpReq.signal);
      } finally {
        for (const clock of this.#clocks) clock.resume();
      }
    });
    this.#client.onclose = () => {
      if (this.#closed) return;
      this.#closed = true;
      // One that never became ready has failed to open.
      if (this.#ready) events.lost(this.#reason() ?? "closed the connection");
    };
    this.#client.onerror = () => undefined;
    this.#outer = new ElementTransport(this.#transport, events.toolsChanged);
  }

  async #handshake(signal: AbortSignal): Promise<void> {
    await this.#client.connect(this.#outer, {
      signal,
      timeout: this.#settings.connectTimeoutMs + AFTER_MS,
    });
  }

  /** True once it has ended, for whatever reason. */
  get isOver(): boolean {
    return this.#closed;
  }

  /** All pages of the server's tools. Throws `ServerFailure`. */
  async listTools(signal: AbortSignal): Promise<Listing> {
    const tools: unknown[] = [];
    if (!this.#client.getServerCapabilities()?.tools) return { tools, isWhole: true };
    const cursors = new Set<string | undefined>([undefined]);
    let cursor: string | undefined;
    try {
      for (let page = 0; page < MOST_PAGES; page++) {
        const answer = await this.#client.request(
          { method: "tools/list", params: cursor === undefined ? {} : { cursor } },
          { signal, timeout: this.#settings.connectTimeoutMs + AFTER_MS },
        );
        const { tools: listed } = movedFields(answer);
        const more = Array.isArray(listed) ? (listed as unknown[]) : [];
        // Some servers send an empty cursor for none, and the same page again when they are asked with it.
        if (cursor === "" && more.every((each) => tools.some((known) => isDeepStrictEqual(known, each))))
          return { tools, isWhole: true };
        tools.push(...more);
        cursor = answer.nextCursor;
        // The last page, or a cursor seen before.
        if (cursors.has(cursor)) return { tools, isWhole: true };
        cursors.add(cursor);
      }
      return { tools, isWhole: false };
    } catch (error) {
      throw this.failureOf(error, signal);
    }
  }

  /** Throws `ServerFailure`. When the server answers no ping either, the connection is closed. */
  async call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<CallAnswer> {
    const late = new AbortController();
    const clock = new CallClock(this.#settings, (how) => late.abort(this.#lateFailure(how)));
    this.#clocks.add(clock);
    const either = AbortSignal.any([signal, late.signal]);
    try {
      const answer = await this.#client.request(
        { method: "tools/call", params: { name, arguments: args } },
        {
          signal: either,
          // The clock decides: the library's timer would run while the person is asked.
          timeout: LONGEST_TIMER_MS,
          // A progress handler is what makes a server send progress.
          onprogress: () => clock.touch(),
        },
      );
      return movedFields(answer);
    } catch (error) {
      const failure = this.failureOf(error, either);
      if (late.signal.reason === failure && failure.silent) await this.#giveUpUnlessAlive();
      throw failure;
    } finally {
      this.#clocks.delete(clock);
      clock.end();
    }
  }

  #lateFailure(how: Late): ServerFailure {
    if (how === "silent")
      return new ServerFailure(`did not answer in time${this.#aside()}`, { unsure: true, silent: true });
    const total = `${this.#settings.longestCallMs / 1_000} s, although it reported progress`;
    return new ServerFailure(`did not answer within ${total}`, { unsure: true });
  }

  /** Ends it, with its program and all that the program started. Never throws. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#client.close().catch(() => undefined);
    await this.#transport.close().catch(() => undefined);
    await this.#child?.end();
  }

  async #giveUpUnlessAlive(): Promise<void> {
    try {
      await this.#client.ping({ timeout: Math.min(MCP_PING_MS, this.#settings.timeoutMs) });
    } catch (error) {
      // An error response shows that it is alive.
      if (error instanceof this.#library.ProtocolError) return;
      // `lost` notifies the owner.
      await this.#transport.close().catch(() => undefined);
    }
  }

  #isTimeout(error: unknown): boolean {
    const { SdkError, SdkErrorCode } = this.#library;
    return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
  }

  #reason(): string | undefined {
    return this.#transport instanceof StdioTransport ? this.#transport.reason : undefined;
  }

  /** Maps each error of the library to a `ServerFailure`. */
  failureOf(error: unknown, signal: AbortSignal): ServerFailure {
    if (error instanceof ServerFailure) return error;
    const { SdkError, SdkErrorCode, SdkHttpError, ProtocolError } = this.#library;
    if (signal.reason instanceof ServerFailure) return signal.reason;
    if (signal.aborted) return new ServerFailure("was not waited for");
    const refused = this.#loginFailure(error);
    if (refused) return refused;
    if (error instanceof SdkHttpError) return this.#httpFailure(error.data?.status, error.message);
    if (this.#isTimeout(error))
      return new ServerFailure(`did not answer in time${this.#aside()}`, { unsure: true });
    const reason = this.#reason();
    if (reason !== undefined) return new ServerFailure(`${reason}${this.#aside()}`, { unsure: true });
    if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed)
      return new ServerFailure("closed the connection", { unsure: true });
    const text = errorText(error);
    if (error instanceof ProtocolError)
      return new ServerFailure(`answered with an error: ${this.#words(text)}`);
    if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
      return new ServerFailure(`sent an invalid answer: ${this.#words(text)}`, {
        unsure: true,
      });
    const { words, code } = causeOf(error);
    const reached = `cannot be reached: ${this.#words(words ?? text)}`;
    return new ServerFailure(reached, { unsure: !NOT_SENT.has(code ?? "") });
  }

  /** A failure that a login ends; the permissions that the server asks for are kept for it. */
  #loginFailure(error: unknown): ServerFailure | undefined {
    const { UnauthorizedError, InsufficientScopeError } = this.#library;
    if (error instanceof LoginNeeded) return new ServerFailure(`asks for a login; ${this.#remedy}`);
    if (error instanceof UnauthorizedError) return new ServerFailure(`refuses the login; ${this.#remedy}`);
    if (!(error instanceof InsufficientScopeError)) return undefined;
    const { requiredScope: scope, resourceMetadataUrl } = error;
    this.#login?.wants({ scope, resourceMetadataUrl: resourceMetadataUrl?.href });
    const asked = scope === undefined ? "" : ` (${this.#words(scope)})`;
    return new ServerFailure(`asks for further permissions${asked}; ${this.#remedy}`);
  }

  #words(text: string): string {
    return cut(cleanLine(text, this.#settings.secrets).replace(/\.$/, ""), WORDS_CHARACTERS);
  }

  #httpFailure(status: number | undefined, text: string): ServerFailure {
    if (status === 401 || status === 403)
      return new ServerFailure(`refuses the login (HTTP ${status}); ${this.#remedy}`);
    if (status === 404) return new ServerFailure("answers HTTP 404; check its address", { forgotten: true });
    if (status === undefined) return new ServerFailure(`cannot be reached: ${this.#words(text)}`);
    // Many servers answer this instead of 404 for an unknown session.
    const forgotten = status === 400 && /session/i.test(text);
    // A proxy may answer this for a server that is still running.
    return new ServerFailure(`answers HTTP ${status}`, { forgotten, unsure: status >= 500 });
  }

  /** What a program that does not answer has printed instead. */
  #aside(): string {
    const { garbage } = this.#transport instanceof StdioTransport ? this.#transport : { garbage: "" };
    if (garbage !== "") {
      const quoted = cut(cleanLine(garbage, this.#settings.secrets), MOST_QUOTED);
      return `; it printed a line that is not MCP: ${JSON.stringify(quoted)}`;
    }
    const lastOutput = this.#reason() === undefined ? (this.#child?.lastWords() ?? "") : "";
    return lastOutput === "" ? "" : `; its last output was: ${this.#words(lastOutput)}`;
  }
}

/** Throws for a line that is no message, also after what the library refuses was dropped from its envelope. */
function readLine(library: typeof Mcp, line: string): Mcp.JSONRPCMessage {
  try {
    return library.deserializeMessage(line);
  } catch {
    return library.deserializeMessage(JSON.stringify(readableEnvelope(JSON.parse(line))));
  }
}

/** The system's message, which `fetch` hides as the cause of "fetch failed". */
function causeOf(error: unknown): { words?: string | undefined; code?: string | undefined } {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return {};
  const { code } = cause as NodeJS.ErrnoException;
  return { words: cause.message === "" ? code : cause.message, code };
}

function startFailure(error: unknown, { secrets }: ServerSettings): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "could not be started: there is no such program or folder";
  const text = cleanLine(errorText(error), secrets);
  return `could not be started: ${cut(text, WORDS_CHARACTERS)}`;
}
