/** A server of the user as long as the host lives: started when it is needed, started again after a failure. */
import type { McpServerConfig } from "../../config/types.ts";
import type { ToolOutcome } from "../../contract/tool.ts";
import { orAborted } from "../../platform/deadline.ts";
import type { Logger } from "../../platform/log.ts";
import {
  catalogKey,
  catalogOf,
  keptBytes,
  readCatalog,
  writeCatalog,
  type Catalog,
  type CatalogTool,
} from "./catalog.ts";
import type { Connection, Listing, ServerFailure } from "./connection.ts";
import { fitsOne } from "./names.ts";
import { outcomeOf } from "./result.ts";
import { readSettings, SettingsError, type Env, type ServerSettings } from "./settings.ts";
import { withoutSecrets } from "./words.ts";

export interface ServerOptions {
  name: string;
  config: McpServerConfig;
  home: string;
  env: Env;
  logger: Logger;
}

/** A list that is older is asked for anew behind a turn. */
const CATALOG_AGE_MS = 24 * 60 * 60_000;
/** After the first failure, doubled with each further one. */
const BACK_OFF_MS = 500;
const MOST_BACK_OFF_MS = 60_000;
/** Changes of the list are often told in bursts. Doubled each time for a server that does not stop telling. */
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
  /** Connections that are being ended. */
  readonly #ending = new Set<Promise<void>>();

  constructor(options: ServerOptions) {
    this.#options = options;
    this.name = options.name;
    this.config = options.config;
    this.#key = catalogKey(options.name, options.config, options.env);
    this.#catalog = readCatalog(options.home, this.#key);
  }

  /** Those that the configuration lets through, in a stable order; undefined while the server has never listed any. */
  get tools(): CatalogTool[] | undefined {
    const { allow = ["*"], deny = [] } = this.config.tools ?? {};
    return this.#catalog?.tools.filter(({ name }) => fitsOne(name, allow) && !fitsOne(name, deny));
  }

  /** Sentences about what is missing of it now; empty when all is well, as far as it is known. */
  get problems(): string[] {
    const leftOut = (this.#catalog?.leftOut ?? []).map((what) =>
      this.#sentence(`is not offered whole: ${what}`),
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
   * Resolves when its tools are known, which they mostly are from an earlier start, or its start has failed, or the
   * signal fires. Never throws: `problems` tells.
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
    // A failure is told by `problems`; an abort by its maker.
    await this.#waitedFor(signal).catch(() => undefined);
  }

  /** Starts it if need be, and lists its tools. Throws an Error with a whole sentence. */
  async test(signal: AbortSignal): Promise<CatalogTool[]> {
    try {
      await this.#waitedFor(signal);
    } catch (error) {
      throw new Error(this.#sentence(textOf(error)), { cause: error });
    }
    return this.tools ?? [];
  }

  /** Rejects only when the signal fires. */
  async call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutcome> {
    try {
      return outcomeOf(await this.#called(tool, args, signal));
    } catch (error) {
      signal.throwIfAborted();
      const { unsure } = error as ServerFailure;
      const text = this.#sentence(textOf(error));
      const then = unsure === true ? " Whether the call has had an effect is not known." : "";
      return { content: [{ type: "text", text: `${text}${then}` }], isError: true };
    }
  }

  /** Ends it and waits until nothing is left. Never throws. */
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
    // It may fail when nobody waits for it any more; `problems` tells.
    connected.catch(() => undefined);
    return orAborted(connected, signal);
  }

  /** The connection there is, or a new one. Rejects with an Error whose message ends a sentence. */
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
      const settings = (this.#settings = readSettings(this.config, this.#options.home, this.#options.env));
      const connection = await this.#opened(settings);
      this.#connection = connection;
      this.#failures = 0;
      this.#problem = undefined;
      return connection;
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#failed(textOf(error));
      throw error;
    }
  }

  /** Open with its tools listed, within the deadline of a start; nothing is left of one that fails. */
  async #opened(settings: ServerSettings): Promise<Connection> {
    const library = await import("./connection.ts");
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
        },
        signal,
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

  #failed(reason: string): void {
    this.#failures += 1;
    this.#retryAt = Date.now() + Math.min(BACK_OFF_MS * 2 ** (this.#failures - 1), MOST_BACK_OFF_MS);
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

  /** What it lists now is for the next turn: a turn has taken its tools when it began. */
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
      // The list of before goes on; a server that is gone is told of by `lost`.
      this.#options.logger.warn("tools of an MCP server not listed", { server: this.name });
    }
  }

  #keep({ tools, isWhole }: Listing): void {
    this.#catalog = keptBytes(this.#catalog, catalogOf(tools, Date.now(), isWhole));
    try {
      writeCatalog(this.#options.home, this.#key, this.#catalog);
    } catch {
      // It is asked for again at the next start.
      this.#options.logger.warn("tools of an MCP server not kept", { server: this.name });
    }
  }

  /** A sentence about it, without the secrets of its settings. */
  #sentence(what: string, end = "."): string {
    return `The MCP server "${this.name}" ${withoutSecrets(what, this.#settings?.secrets ?? [])}${end}`;
  }
}

/** Of a call that did not get as far as to be sent; that its server ended says nothing of it. */
function notSent(error: unknown): never {
  throw new Error(textOf(error), { cause: error });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
