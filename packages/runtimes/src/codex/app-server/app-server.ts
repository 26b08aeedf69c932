/** The host's `codex app-server` child: one for all sessions, started on first use. */
import { errorText } from "@pagurus/core/data/error-text";
import { PagurusError } from "@pagurus/contract/errors";
import { codexVariables } from "@pagurus/core/native/own-variables";
import { childEnvironment } from "@pagurus/core/platform/child-environment";
import { orAborted } from "@pagurus/core/platform/deadline";
import { RpcChild } from "@pagurus/core/rpc/rpc-child";
import { METHOD_NOT_FOUND, RpcError, RpcPeer, type RpcRequestOptions } from "@pagurus/core/rpc/peer";
import { findCodex, type FoundCodex } from "../find-codex.ts";
import { QUIET_ARGUMENTS } from "./codex-network.ts";
import type { InitializeParams, InitializeResponse } from "../protocol.ts";
import { untriedNote } from "@pagurus/core/data/tried-programs";
import { CODEX_VERSION, versionOfUserAgent } from "../codex-version.ts";

/** The measured median is 214 ms. */
const START_DEADLINE_MS = 30_000;
/** How long the output is still read after the child has ended, ms. */
const OPEN_OUTPUT_MS = 500;

/** Limit of invalid lines before its first answer; a program that writes more is not Codex. */
const MOST_FOREIGN_LINES = 20;
const NOT_CODEX = "check that it is Codex, or name another program in plugins.entries.codex.config.command";
const RECOVERY = "What was done until then is in the session; the next turn starts Codex again.";

/** Notifications without a thread that are reported to the user. */
const WARNINGS = new Set(["configWarning", "warning"]);
const WARNING_CHARACTERS = 500;
/** Limit of an error message: Codex may list all methods that it knows. */
const MOST_ERROR_CHARACTERS = 300;

/** Callbacks for the messages of a thread. None may throw; one that does is logged. */
export interface ThreadListener {
  /** All notifications whose `params.threadId` is the thread, in the order of the wire. */
  notification(method: string, params: unknown): void;
  /** Server requests of the thread; with several listeners the newest answers. A throw is sent to Codex as an error. */
  request(method: string, params: unknown): Promise<unknown>;
  /** The child ended; no message follows. */
  closed(error: PagurusError): void;
}

export interface AppServer {
  /** Codex's version, "0.169.0"; "unknown" when its user agent names none. */
  readonly version: string;
  readonly pid: number;
  readonly codexHome: string;
  readonly isAlive: boolean;
  /** Rejects as `RpcPeer.request` does; at once with `runtime_failed` when the child is gone. */
  request<T = unknown>(method: string, params: unknown, options?: RpcRequestOptions): Promise<T>;
  /**
   * Adds a listener. Called synchronously after the answer to `thread/start` or `thread/resume`, it misses no later message.
   * The returned function removes it.
   */
  listen(threadId: string, listener: ThreadListener): () => void;
}

export interface AppServersOptions {
  /** The child's environment; credentials reach Codex through it, never through its arguments. */
  env: Readonly<Record<string, string | undefined>>;
  /** Configured path or name of the binary; else it is searched. */
  command?: string | undefined;
  /** Pagurus' own version, sent to Codex. */
  clientVersion: string;
  /** Names of further variables for the child. */
  passedOn?: readonly string[] | undefined;
  /** `@openai/codex` of the user's install is resolved from here. */
  from?: string | undefined;
  /** From the start of the process to its answer to `initialize`, ms. Default 30,000. */
  startDeadlineMs?: number | undefined;
  warn?(sentence: string, details?: Record<string, unknown>): void;
}

type Warn = NonNullable<AppServersOptions["warn"]>;

/** The host's single child: started lazily, and again after it ended. */
export class AppServers {
  readonly #options: AppServersOptions;
  #current: Promise<CodexAppServer> | undefined;
  /** Every child that was started and may still run. */
  readonly #servers = new Set<CodexAppServer>();
  #disposed = false;

  constructor(options: AppServersOptions) {
    this.#options = options;
  }

  /**
   * The running child, started if need be. Throws `runtime_failed` when the program is missing (with how to install it) or
   * does not start, `turn_aborted` on the signal; a start that others wait for continues.
   */
  async get(signal?: AbortSignal): Promise<AppServer> {
    for (;;) {
      const current = (this.#current ??= this.#start());
      const server = await (signal ? orAborted(current, signal) : current);
      if (server.isAlive) return server;
      // It has ended since; the next caller starts a new one.
      if (this.#current === current) this.#current = undefined;
    }
  }

  /** The running child, if any; starts none. */
  async running(): Promise<AppServer | undefined> {
    const server = await this.#current?.catch(() => undefined);
    return server?.isAlive === true ? server : undefined;
  }

  /** Finds the binary without starting it. */
  find(): FoundCodex | { reason: string } {
    return findCodex(this.#options);
  }

  /**
   * Ends the child with its whole process group and rejects open requests. Nothing can be started afterwards. Resolves when
   * no process is left or the deadlines have passed.
   */
  async dispose(): Promise<void> {
    this.#disposed = true;
    const starting = this.#current;
    this.#current = undefined;
    const reason = new PagurusError("runtime_failed", "Codex was ended together with its host.");
    await Promise.all([...this.#servers].map((server) => server.end(reason)));
    // A child that is just starting checks this and ends itself.
    await starting?.catch(() => undefined);
  }

  #start(): Promise<CodexAppServer> {
    const started = this.#launch();
    // The next caller retries a failed start.
    started.catch(() => {
      if (this.#current === started) this.#current = undefined;
    });
    return started;
  }

  async #launch(): Promise<CodexAppServer> {
    if (this.#disposed)
      throw new PagurusError("runtime_failed", "Codex was requested after the host had ended it.");
    const found = this.find();
    if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
    const { env, passedOn = [] } = this.#options;
    const child = await RpcChild.start({
      command: found.command,
      args: [...found.args, "app-server", ...QUIET_ARGUMENTS],
      env: childEnvironment(env, [...codexVariables(env), ...passedOn]),
      label: "Codex",
    });
    const warn: Warn = (sentence, details) => this.#options.warn?.(sentence, details);
    const server = new CodexAppServer(child, warn);
    this.#servers.add(server);
    void child.exited.then(() => child.end()).then(() => this.#servers.delete(server));
    try {
      if (this.#disposed) throw new PagurusError("runtime_failed", "its host was ended meanwhile.");
      await server.introduce(this.#options.clientVersion, this.#options.startDeadlineMs);
      return server;
    } catch (error) {
      const failure = startFailed(error, found.command);
      await server.end(failure);
      throw failure;
    }
  }
}

/** A program that ends or is silent without an error message may be a different one. */
function startFailed(error: unknown, command: string): PagurusError {
  const why = errorText(error);
  const isWordless = /^Codex ended with code \d+\.$|was not answered within/.test(why);
  const message = isWordless ? why.replace(/\.$/, `; ${NOT_CODEX}.`) : why;
  return new PagurusError("runtime_failed", `Codex did not start (\`${command} app-server\`): ${message}`, {
    cause: error,
    details: { command },
  });
}

class CodexAppServer implements AppServer {
  version = "unknown";
  codexHome = "";
  #drift: string | undefined;
  readonly #child: RpcChild;
  readonly #peer: RpcPeer;
  readonly #warn: Warn;
  readonly #listeners = new Map<string, ThreadListener[]>();
  /** Threads of subagents that Codex started itself, with their parents. */
  readonly #parents = new Map<string, string>();
  #closed: PagurusError | undefined;
  #isIntroduced = false;

  constructor(child: RpcChild, warn: Warn) {
    this.#child = child;
    this.#warn = warn;
    this.#peer = new RpcPeer(child, {
      notification: (method, params) => this.#notified(method, params),
      request: (method, params) => this.#asked(method, params),
      ended: async () => this.#reasonFor(await child.reasonOfEnd()),
      skipped: (count) => {
        // Logged once: a program may print such lines without end.
        if (count === 1) this.#warn("Codex wrote a line that is not a message; such lines are skipped.");
        if (count < MOST_FOREIGN_LINES || this.#isIntroduced) return;
        const what = `its first ${MOST_FOREIGN_LINES} lines are not messages of Codex; ${NOT_CODEX}.`;
        void this.end(new PagurusError("runtime_failed", what));
      },
      problem: (error) => this.#warn("A listener of a Codex thread failed.", { error: String(error) }),
    });
    // The end of the output closes the connection, after all earlier messages. The child's own children may keep the output
    // open.
    void child.exited.then((reason) =>
      setTimeout(() => this.#peer.close(this.#reasonFor(reason)), OPEN_OUTPUT_MS).unref(),
    );
    void this.#peer.closed.then((reason) => this.#ended(reason));
  }

  get pid(): number {
    return this.#child.pid;
  }

  get isAlive(): boolean {
    return this.#child.isAlive && !this.#closed;
  }

  async request<T = unknown>(method: string, params: unknown, options?: RpcRequestOptions): Promise<T> {
    try {
      return (await this.#peer.request(method, params, options)) as T;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { message, code, data } = error;
      const cut = message.length > MOST_ERROR_CHARACTERS;
      const shown = cut ? `${message.slice(0, MOST_ERROR_CHARACTERS)}…` : message;
      // Another version may refuse a request because it does not know it.
      const drift = this.#drift === undefined ? "" : `${shown.endsWith(".") ? "" : "."} ${this.#drift}`;
      throw new RpcError(`${shown}${drift}`, code, data);
    }
  }

  listen(threadId: string, listener: ThreadListener): () => void {
    const closed = this.#closed;
    if (closed) {
      queueMicrotask(() => listener.closed(closed));
      return () => undefined;
    }
    this.#listeners.set(threadId, [...(this.#listeners.get(threadId) ?? []), listener]);
    return () => {
      const rest = (this.#listeners.get(threadId) ?? []).filter((each) => each !== listener);
      if (rest.length > 0) this.#listeners.set(threadId, rest);
      else this.#listeners.delete(threadId);
    };
  }

  /** The handshake. Rejects as requests do, and for an answer that is not Codex's. */
  async introduce(clientVersion: string, deadlineMs = START_DEADLINE_MS): Promise<void> {
    const params: InitializeParams = {
      clientInfo: { name: "pagurus", title: "Pagurus", version: clientVersion },
      capabilities: { experimentalApi: true, requestAttestation: false },
    };
    const answer = await this.request<Partial<InitializeResponse> | null>("initialize", params, {
      deadlineMs,
    });
    const { userAgent, codexHome } = answer ?? {};
    if (typeof userAgent !== "string")
      throw new PagurusError("runtime_failed", `its answer to initialize is not Codex's; ${NOT_CODEX}.`);
    this.#peer.notify("initialized");
    this.#isIntroduced = true;
    if (typeof codexHome === "string") this.codexHome = codexHome;
    this.version = versionOfUserAgent(userAgent) ?? "unknown";
    this.#drift = untriedNote("codex", this.version);
    if (this.#drift !== undefined)
      this.#warn(this.#drift, { running: this.version, expected: CODEX_VERSION });
  }

  /** Rejects open requests with the reason, then ends the child and its group. */
  end(reason: PagurusError): Promise<void> {
    this.#peer.close(reason);
    return this.#child.end();
  }

  /** Error for running turns when it ends during work; an end at its start is reported by the start. */
  #reasonFor(reason: PagurusError): PagurusError {
    if (!this.#isIntroduced) return reason;
    const { code, message, cause, details } = reason;
    return new PagurusError(code, `${message} ${RECOVERY}`, { cause, details });
  }

  #notified(method: string, params: unknown): void {
    const thread = threadOf(params);
    if (method === "item/completed") this.#noteAgents(params);
    if (thread === undefined) {
      if (WARNINGS.has(method)) this.#warn("Codex warns about its configuration.", warningOf(params));
      return;
    }
    for (const listener of this.#listenersOf(thread))
      this.#guarded(() => listener.notification(method, params));
  }

  /** Records subagents that Codex started itself: their requests go to the listeners of the parent's thread. */
  #noteAgents(params: unknown): void {
    const { item } = (params ?? {}) as { item?: Readonly<Record<string, unknown>> };
    const { type, tool, senderThreadId: parent, receiverThreadIds: agents } = item ?? {};
    if (type !== "collabAgentToolCall" || tool !== "spawnAgent") return;
    if (typeof parent !== "string" || !Array.isArray(agents)) return;
    for (const id of agents) if (typeof id === "string" && id !== parent) this.#parents.set(id, parent);
  }

  /** Listeners of the thread, or of its nearest parent that has any. */
  #listenersOf(thread: string): readonly ThreadListener[] {
    for (let id: string | undefined = thread; id !== undefined; id = this.#parents.get(id)) {
      const found = this.#listeners.get(id);
      if (found) return found;
    }
    return [];
  }

  async #asked(method: string, params: unknown): Promise<unknown> {
    // The same for every thread, and also requested for threads without a listener. Since 0.171.0 Codex does not ask.
    if (method === "currentTime/read") return { currentTimeAt: Math.floor(Date.now() / 1000) };
    const thread = threadOf(params);
    const listener = thread === undefined ? undefined : this.#listenersOf(thread).at(-1);
    if (listener) return listener.request(method, params);
    throw new RpcError(
      thread === undefined
        ? `Pagurus does not answer \`${method}\`.`
        : `Pagurus runs no turn on the thread that \`${method}\` names.`,
      METHOD_NOT_FOUND,
    );
  }

  #ended(reason: PagurusError): void {
    this.#closed = reason;
    const listeners = [...this.#listeners.values()].flat();
    this.#listeners.clear();
    for (const listener of listeners) this.#guarded(() => listener.closed(reason));
    // The connection may have ended before the child: a line too long, an output closed.
    void this.#child.end();
  }

  #guarded(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#warn("A listener of a Codex thread failed.", { error: String(error) });
    }
  }
}

function warningOf(params: unknown): Record<string, unknown> {
  const fields = typeof params === "object" && params !== null ? Object.entries(params) : [];
  const texts = fields.filter((field): field is [string, string] => typeof field[1] === "string");
  return Object.fromEntries(texts.map(([name, text]) => [name, text.slice(0, WARNING_CHARACTERS)]));
}

/** The thread of a notification or request; approval requests of the first protocol version use another field. */
function threadOf(params: unknown): string | undefined {
  if (typeof params !== "object" || params === null) return undefined;
  const { threadId, conversationId } = params as Record<string, unknown>;
  if (typeof threadId === "string") return threadId;
  return typeof conversationId === "string" ? conversationId : undefined;
}
