/** One configured server during the life of the host: started when it is needed, restarted after a failure. */
import { errorText } from "@pagurus/core/data/error-text";
import { backOffMs } from "@pagurus/core/data/back-off";
import type { McpServerConfig } from "@pagurus/core/config/config-types";
import { PagurusError } from "@pagurus/contract/errors";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { orAborted } from "@pagurus/core/platform/deadline";
import type { Logger } from "@pagurus/core/platform/log";
import {
  catalogKey,
  catalogOf,
  keptBytes,
  readCatalog,
  writeCatalog,
  type Catalog,
  type CatalogTool,
} from "./mcp-catalog.ts";
import type { Connection, ConnectionLogin, Listing, ServerFailure } from "./mcp-connection.ts";
import { fitsOne } from "./names.ts";
import { outcomeOf } from "./mcp-result.ts";
import { readSettings, SettingsError, type Env, type ServerSettings } from "./mcp-settings.ts";
import { serverSecrets, withoutSecrets } from "./mcp-words.ts";
import { askPerson, type AskingCall, type AskPerson } from "./elicitation.ts";
import { LoginStore } from "./oauth/login-store.ts";
import { attempt } from "@pagurus/core/data/attempt";
import { shellWord } from "@pagurus/core/platform/shell-word";

export interface ServerOptions {
  name: string;
  config: McpServerConfig;
  home: string;
  /** Folder of a program without a configured `cwd`. */
  startIn: string;
  env: Env;
  logger: Logger;
  /** Logins of the user are used: only for servers that the user's own configuration names. */
  logins?: boolean | undefined;
}

/** Who calls. */
export interface CallContext {
  signal: AbortSignal;
  sessionKey: string;
  ask?: AskPerson | undefined;
}

/** Age at which the list is refreshed in the background of a turn, ms. */
const CATALOG_AGE_MS = 24 * 60 * 60_000;
const PAUSES = { firstMs: 500, longestMs: 60_000 };
/** Debounce of list changes, which servers often send in bursts, ms. Doubled each time for a server that keeps sending them. */
const SETTLE_MS = 200;
const MOST_SETTLE_MS = 60_000;

export class McpServer {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly #options: ServerOptions;
  readonly #key: string;
  readonly #closed = new AbortController();
  #catalog: Catalog | undefined;
  #settings: ServerSettings | undefined;
  #opening: Promise<Connection> | undefined;
  #connection: Connection | undefined;
  #failures = 0;
  #retryAt = 0;
  #problem: string | undefined;
  #relist: NodeJS.Timeout | undefined;
  #settleMs = SETTLE_MS;
  #listedAt = 0;
  readonly #calls = new Set<AskingCall>();
  /** Connections that are being closed. */
  readonly #ending = new Set<Promise<void>>();

  constructor(options: ServerOptions) {
    this.#options = options;
    this.name = options.name;
    this.config = options.config;
    this.#key = catalogKey(options.name, options.config, options.env, options.startIn);
    this.#catalog = readCatalog(options.home, this.#key);
  }

  get isEnabled(): boolean {
    return this.config.enabled !== false && this.config.disabled !== true;
  }

  /** The tools that the configuration allows, in a stable order; undefined while the server has never listed any. */
  get tools(): CatalogTool[] | undefined {
    const { allow, deny } = toolChoice(this.config);
    return this.#catalog?.tools.filter(({ name }) => fitsOne(name, allow) && !fitsOne(name, deny));
  }

  /** A sentence for each current problem; empty when none is known. */
  get problems(): string[] {
    const leftOut = (this.#catalog?.leftOut ?? []).map((what) =>
      this.#sentence(`is offered without some of its parts: ${what}`),
    );
    if (this.#problem === undefined) return leftOut;
    const then = this.#catalog
      ? "its tools are offered, and a call of one tries again"
      : "its tools are missing";
    return [`${this.#sentence(this.#problem, "")}; ${then}.`, ...leftOut];
  }

  get state(): "connected" | "starting" | "failed" | "idle" {
    if (this.#connection) return "connected";
    if (this.#opening) return "starting";
    return this.#problem === undefined ? "idle" : "failed";
  }

  /**
   * Resolves when its tools are known (mostly from the cache), its start has failed, or the signal fires. Never throws: see
   * `problems`.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    if (this.#catalog) {
      const age = Date.now() - this.#catalog.at;
      const old = age > CATALOG_AGE_MS || age < 0;
      const again = this.#problem !== undefined && Date.now() >= this.#retryAt;
      if (old && this.#connection) this.#listSoon();
      else if (old || again) this.#connected().catch(() => undefined);
      return;
    }
    // A failure is in `problems`; an abort is handled by the caller.
    await this.#waitedFor(signal).catch(() => undefined);
  }

  /** Starts it if need be and lists its tools. Throws `mcp_failed` with a whole sentence. */
  async test(signal: AbortSignal): Promise<CatalogTool[]> {
    try {
      await this.#waitedFor(signal);
    } catch (error) {
      throw new PagurusError("mcp_failed", this.#sentence(errorText(error)), { cause: error });
    }
    return this.tools ?? [];
  }

  /** Rejects only when the signal fires. */
  async call(
    tool: string,
    args: Record<string, unknown>,
    { signal, sessionKey, ask }: CallContext,
  ): Promise<ToolOutcome> {
    const asking: AskingCall = { sessionKey, ask, declined: [] };
    this.#calls.add(asking);
    try {
      return withDeclined(outcomeOf(await this.#called(tool, args, signal)), asking);
    } catch (error) {
      signal.throwIfAborted();
      const { unsure } = error as ServerFailure;
      const text = this.#sentence(errorText(error));
      const then = unsure === true ? " It is unknown whether the call had an effect." : "";
      return withDeclined({ content: [{ type: "text", text: `${text}${then}` }], isError: true }, asking);
    } finally {
      this.#calls.delete(asking);
    }
  }

  /** Ends it and waits until no process is left. Never throws. */
  async close(): Promise<void> {
    this.#closed.abort();
    clearTimeout(this.#relist);
    const opening = await this.#opening?.catch(() => undefined);
    await (opening ?? this.#connection)?.close();
    this.#connection = undefined;
    await Promise.all(this.#ending);
  }

  async #called(
    tool: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
  ): ReturnType<Connection["call"]> {
    const connection = await this.#waitedFor(signal).catch(notSent);
    try {
      return await connection.call(tool, args, signal);
    } catch (error) {
      if (!(error as ServerFailure).forgotten || signal.aborted) throw error;
      await this.#drop(connection);
      const again = await this.#waitedFor(signal).catch(notSent);
      return await again.call(tool, args, signal);
    }
  }

  #waitedFor(signal: AbortSignal): Promise<Connection> {
    const connected = this.#connected();
    // May reject after the last caller stopped waiting; the failure is in `problems`.
    connected.catch(() => undefined);
    return orAborted(connected, signal);
  }

  /** The open connection, or a new one. Rejects with an Error whose message ends a sentence. */
  #connected(): Promise<Connection> {
    if (this.#connection?.isOver === false) return Promise.resolve(this.#connection);
    if (this.#closed.signal.aborted)
      return Promise.reject(new SettingsError("is closed, because the host is"));
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<Connection> {
    const wait = this.#retryAt - Date.now();
    if (wait > 0) {
      const again = `it is tried again in ${Math.ceil(wait / 1_000)} s`;
      throw new SettingsError(`${this.#problem ?? "failed"}; ${again}`);
    }
    try {
      const settings = (this.#settings = this.#withLogin(this.settings()));
      const connection = await this.#opened(settings);
      this.#connection = connection;
      this.#failures = 0;
      this.#problem = undefined;
      return connection;
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#failed(errorText(error));
      throw error;
    }
  }

  /** Opens a connection and lists its tools, within the start timeout; a failed one leaves no process. */
  async #opened(settings: ServerSettings): Promise<Connection> {
    const library = await import("./mcp-connection.ts");
    const late = new AbortController();
    const timer = setTimeout(() => {
      const seconds = settings.connectTimeoutMs / 1_000;
      late.abort(new library.ServerFailure(`did not get ready within ${seconds} s`));
    }, settings.connectTimeoutMs);
    const signal = AbortSignal.any([late.signal, this.#closed.signal]);
    let connection: Connection | undefined;
    try {
      const opened = await library.Connection.open(
        settings,
        {
          toolsChanged: () => this.#listSoon(),
          lost: (reason) => this.#lost(opened, reason),
          asked: (params, asked) => askPerson(this.name, params, [...this.#calls], asked),
        },
        signal,
        this.#loginOf(settings),
      );
      connection = opened;
      this.#keep(await opened.listTools(signal));
      return opened;
    } catch (error) {
      await connection?.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Adds the stored tokens to what no sentence may contain. */
  #withLogin(settings: ServerSettings): ServerSettings {
    const login = this.#loginOf(settings);
    if (!login) return settings;
    return { ...settings, secrets: serverSecrets([...settings.secrets, ...login.store.secrets()]) };
  }

  #loginOf({ transport }: ServerSettings): ConnectionLogin | undefined {
    const { home, logins } = this.#options;
    if (logins !== true || transport.kind === "stdio" || !transport.oauth.enabled) return undefined;
    const command = `run pagurus mcp login ${shellWord(this.name)}, or set "headers" with what it asks for`;
    return { store: new LoginStore(home, this.name, transport.url), command };
  }

  /** State of the login; undefined for a server without one. Never throws. */
  get login(): "logged in" | "needed" | undefined {
    const settings = attempt(() => this.settings());
    const stored = settings && this.#loginOf(settings)?.store.read();
    if (!stored) return undefined;
    if (stored.wanted) return "needed";
    return stored.tokens ? "logged in" : undefined;
  }

  /** The configuration with the environment expanded. Throws `SettingsError`. */
  settings(): ServerSettings {
    const { home, env, startIn } = this.#options;
    return readSettings(this.config, home, env, startIn);
  }

  #failed(reason: string): void {
    this.#failures += 1;
    this.#retryAt = Date.now() + backOffMs(this.#failures, PAUSES);
    this.#problem = reason;
    this.#options.logger.warn("MCP server failed", { server: this.name, failures: this.#failures });
  }

  #lost(connection: Connection, reason: string): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#failed(reason);
    void this.#end(connection);
  }

  async #drop(connection: Connection): Promise<void> {
    if (this.#connection === connection) this.#connection = undefined;
    await this.#end(connection);
  }

  async #end(connection: Connection): Promise<void> {
    const ending = connection.close();
    this.#ending.add(ending);
    await ending;
    this.#ending.delete(ending);
  }

  /** Refreshes the list for the next turn: a turn keeps the tools it began with. */
  #listSoon(): void {
    if (this.#relist !== undefined || this.#closed.signal.aborted) return;
    if (Date.now() - this.#listedAt > MOST_SETTLE_MS) this.#settleMs = SETTLE_MS;
    this.#relist = setTimeout(() => {
      this.#settleMs = Math.min(2 * this.#settleMs, MOST_SETTLE_MS);
      void this.#list().finally(() => {
        this.#relist = undefined;
        this.#listedAt = Date.now();
      });
    }, this.#settleMs).unref();
  }

  async #list(): Promise<void> {
    try {
      const connection = this.#connection ?? (await this.#opening);
      if (connection) this.#keep(await connection.listTools(this.#closed.signal));
    } catch {
      // The earlier list stays; `lost` reports a server that ended.
      this.#options.logger.warn("tools of an MCP server not listed", { server: this.name });
    }
  }

  #keep({ tools, isWhole }: Listing): void {
    this.#catalog = keptBytes(this.#catalog, catalogOf(tools, Date.now(), isWhole));
    try {
      writeCatalog(this.#options.home, this.#key, this.#catalog);
    } catch {
      // It is requested again at the next start.
      this.#options.logger.warn("tools of an MCP server not kept", { server: this.name });
    }
  }

  /** A sentence about the server, without the secrets of its settings. */
  #sentence(what: string, end = "."): string {
    return `The MCP server "${this.name}" ${withoutSecrets(what, this.#settings?.secrets ?? [])}${end}`;
  }
}

/** Patterns of the tools that are offered, also under the keys of other programs: what is off there is off here. */
function toolChoice(config: McpServerConfig): { allow: readonly string[]; deny: readonly string[] } {
  const { tools = {}, includeTools, enabled_tools: enabled } = config;
  const { excludeTools = [], disabled_tools: disabled = [], disabledTools = [] } = config;
  return {
    allow: tools.allow ?? includeTools ?? enabled ?? ["*"],
    deny: [...(tools.deny ?? []), ...excludeTools, ...disabled, ...disabledTools],
  };
}

/** Names the questions that no person saw. */
function withDeclined(outcome: ToolOutcome, { declined }: AskingCall): ToolOutcome {
  if (declined.length === 0) return outcome;
  const texts = declined.map((sentence) => ({ type: "text" as const, text: `[${sentence}]` }));
  return { ...outcome, content: [...outcome.content, ...texts] };
}

/** Throws for a call that was not sent; that the server ended says nothing about it. */
function notSent(error: unknown): never {
  throw new PagurusError("mcp_failed", errorText(error), { cause: error });
}
