/** The `codex app-server` child of a host: one for all sessions, started when it is first needed. */
import { PagurusError } from "../../contract/errors.ts";
import { orAborted } from "../../platform/deadline.ts";
import { RpcChild } from "../../rpc/child.ts";
import { METHOD_NOT_FOUND, RpcError, RpcPeer, type RpcRequestOptions } from "../../rpc/peer.ts";
import { findCodex, type FoundCodex } from "./find.ts";
import { QUIET_ARGUMENTS } from "./network.ts";
import type { CurrentTimeReadResponse, InitializeParams, InitializeResponse } from "./protocol.ts";
import { CODEX_VERSION, driftOf, versionOfUserAgent } from "./version.ts";

/** The measured median is 214. */
const START_DEADLINE_MS = 30_000;
/** How long the output is still read after the child has ended, ms. */
const OPEN_OUTPUT_MS = 500;

/** Lines before its first answer that are no messages; a program that writes more of them is not Codex. */
const MOST_FOREIGN_LINES = 20;
const NOT_CODEX = "check that it is Codex, or name another program in plugins.entries.codex.config.command";
const GOES_ON = "What was done until then is in the session; the next turn starts Codex again.";

/** Notifications of no thread that the user should know of. */
const WARNINGS = new Set(["configWarning", "warning"]);
const WARNING_CHARACTERS = 500;
/** Codex may list all methods that it knows. */
const MOST_ERROR_CHARACTERS = 300;

/** What a thread tells; none of these may throw, and one that does is warned of. */
export interface ThreadListener {
  /** All notifications whose `params.threadId` is the thread, in the order of the wire. */
  notification(method: string, params: unknown): void;
  /** Server requests of the thread; with several listeners the newest answers. What it throws Codex gets as an error. */
  request(method: string, params: unknown): Promise<unknown>;
  /** The child ended; nothing comes after it. */
  closed(error: PagurusError): void;
}

export interface AppServer {
  /** Codex's version, "0.169.0"; "unknown" when its user agent names none. */
  readonly version: string;
  readonly pid: number;
  readonly codexHome: string;
  /** Says that another version runs than the one Pagurus was made for; a sentence. */
  readonly drift: string | undefined;
  readonly isAlive: boolean;
  /** Rejects as `RpcPeer.request` does; at once with `runtime_failed` when the child is gone. */
  request<T = unknown>(method: string, params: unknown, options?: RpcRequestOptions): Promise<T>;
  /**
   * Called synchronously after the answer to `thread/start` or `thread/resume`, it misses nothing that follows the
   * answer. The returned function ends the listening.
   */
  listen(threadId: string, listener: ThreadListener): () => void;
}

export interface AppServersOptions {
  /** The child's environment; credentials reach Codex by it, never by its arguments. */
  env: Readonly<Record<string, string | undefined>>;
  /** Configured path or name of the binary; else found. */
  command?: string | undefined;
  /** Pagurus' own version, told to Codex. */
  clientVersion: string;
  /** Resolves `@openai/codex` of the user's install from here. */
  from?: string | undefined;
  /** From the start of the process to its answer to `initialize`, ms. Default 30,000. */
  startDeadlineMs?: number | undefined;
  warn?(sentence: string, details?: Record<string, unknown>): void;
}

type Warn = NonNullable<AppServersOptions["warn"]>;

/** The one child of a host: started lazily, and again after it ended. */
export class AppServers {
  readonly #options: AppServersOptions;
  #current: Promise<CodexAppServer> | undefined;
  /** Every child that was started and may not be gone yet. */
  readonly #servers = new Set<CodexAppServer>();
  readonly #told = new WeakSet<AppServer>();
  #disposed = false;

  constructor(options: AppServersOptions) {
    this.#options = options;
  }

  /**
   * The running child, started if need be. Throws `runtime_failed` when the program is missing (with how to install
   * it) or does not start, `turn_aborted` on the signal; a start that others wait for goes on.
   */
  async get(signal?: AbortSignal): Promise<AppServer> {
    for (;;) {
      const current = (this.#current ??= this.#start());
      const server = await (signal ? orAborted(current, signal) : current);
      if (server.isAlive) return server;
      // It ended since; whoever comes first starts the next.
      if (this.#current === current) this.#current = undefined;
    }
  }

  /** The child that runs, if one does; starts none. */
  async running(): Promise<AppServer | undefined> {
    const server = await this.#current?.catch(() => undefined);
    return server?.isAlive === true ? server : undefined;
  }

  /** Once for each child: that another version runs than the expected one, to be told to a user. */
  takeDrift(server: AppServer): string | undefined {
    if (this.#told.has(server)) return undefined;
    this.#told.add(server);
    return server.drift;
  }

  /** Whether a binary can be found, without starting it. */
  find(): FoundCodex | { reason: string } {
    return findCodex(this.#options);
  }

  /**
   * Ends the child with its whole process group; open requests are rejected. Nothing can be started afterwards.
   * Resolves when nothing of the group is left or the deadlines for that have passed.
   */
  async dispose(): Promise<void> {
    this.#disposed = true;
    const starting = this.#current;
    this.#current = undefined;
    const reason = new PagurusError("runtime_failed", "Codex was ended together with its host.");
    await Promise.all([...this.#servers].map((server) => server.end(reason)));
    // One that was just being started sees that it is not wanted any more, and ends its child itself.
    await starting?.catch(() => undefined);
  }

  #start(): Promise<CodexAppServer> {
    const started = this.#launch();
    // A start that failed is tried again by the next who asks.
    started.catch(() => {
      if (this.#current === started) this.#current = undefined;
    });
    return started;
  }

  async #launch(): Promise<CodexAppServer> {
    if (this.#disposed)
      throw new PagurusError("runtime_failed", "Codex was asked for after the host had ended it.");
    const found = this.find();
    if ("reason" in found) throw new PagurusError("runtime_failed", found.reason);
    const child = await RpcChild.start({
      command: found.command,
      args: [...found.args, "app-server", ...QUIET_ARGUMENTS],
      env: this.#options.env,
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

/** A program that ends or is silent without a word of why may be any other. */
function startFailed(error: unknown, command: string): PagurusError {
  const why = error instanceof Error ? error.message : String(error);
  const isWordless = /^Codex ended with code \d+\.$|was not answered within/.test(why);
  const said = isWordless ? why.replace(/\.$/, `; ${NOT_CODEX}.`) : why;
  return new PagurusError("runtime_failed", `Codex did not start (\`${command} app-server\`): ${said}`, {
    cause: error,
    details: { command },
  });
}

class CodexAppServer implements AppServer {
  version = "unknown";
  codexHome = "";
  drift: string | undefined;
  readonly #child: RpcChild;
  readonly #peer: RpcPeer;
  readonly #warn: Warn;
  readonly #listeners = new Map<string, ThreadListener[]>();
  /** Threads of agents that Codex started by itself, and whose they are. */
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
        // Once is enough: a program that prints to its output may do so without end.
        if (count === 1) this.#warn("Codex wrote a line that is no message; such lines are skipped.");
        if (count < MOST_FOREIGN_LINES || this.#isIntroduced) return;
        const what = `its first ${MOST_FOREIGN_LINES} lines are no messages of Codex; ${NOT_CODEX}.`;
        void this.end(new PagurusError("runtime_failed", what));
      },
      problem: (error) => this.#warn("A listener of a Codex thread failed.", { error: String(error) }),
    });
    // The end of the output closes the connection, behind all that was said before it. Something that the child
    // started may hold the output open.
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
      const said = cut ? `${message.slice(0, MOST_ERROR_CHARACTERS)}…` : message;
      // What another version refuses, it may refuse for what it does not know.
      const drift = this.drift === undefined ? "" : `${said.endsWith(".") ? "" : "."} ${this.drift}`;
      throw new RpcError(`${said}${drift}`, code, data);
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

  /** The handshake. Rejects as requests do, and where the answer is not Codex's. */
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
      throw new PagurusError("runtime_failed", `it does not introduce itself as Codex does; ${NOT_CODEX}.`);
    this.#peer.notify("initialized");
    this.#isIntroduced = true;
    if (typeof codexHome === "string") this.codexHome = codexHome;
    this.version = versionOfUserAgent(userAgent) ?? "unknown";
    this.drift = driftOf(this.version);
    if (this.drift !== undefined) this.#warn(this.drift, { running: this.version, expected: CODEX_VERSION });
  }

  /** Rejects what is open with the reason, then ends the child and its group. */
  end(reason: PagurusError): Promise<void> {
    this.#peer.close(reason);
    return this.#child.end();
  }

  /** An end in the middle of its work, as the turns on it are told; one at its start is told by who started it. */
  #reasonFor(reason: PagurusError): PagurusError {
    if (!this.#isIntroduced) return reason;
    const { code, message, cause, details } = reason;
    return new PagurusError(code, `${message} ${GOES_ON}`, { cause, details });
  }

  #notified(method: string, params: unknown): void {
    const thread = threadOf(params);
    if (method === "item/completed") this.#noteAgents(params);
    if (thread === undefined) {
      if (WARNINGS.has(method)) this.#warn("Codex warns about its set-up.", warningOf(params));
      return;
    }
    for (const listener of this.#listenersOf(thread))
      this.#guarded(() => listener.notification(method, params));
  }

  /** Agents that Codex started by itself: what one asks is asked of whom its parent's turn belongs to. */
  #noteAgents(params: unknown): void {
    const { item } = (params ?? {}) as { item?: Readonly<Record<string, unknown>> };
    const { type, tool, senderThreadId: parent, receiverThreadIds: agents } = item ?? {};
    if (type !== "collabAgentToolCall" || tool !== "spawnAgent") return;
    if (typeof parent !== "string" || !Array.isArray(agents)) return;
    for (const id of agents) if (typeof id === "string" && id !== parent) this.#parents.set(id, parent);
  }

  /** Of the thread, or of the nearest of its parents that has any. */
  #listenersOf(thread: string): readonly ThreadListener[] {
    for (let id: string | undefined = thread; id !== undefined; id = this.#parents.get(id)) {
      const found = this.#listeners.get(id);
      if (found) return found;
    }
    return [];
  }

  async #asked(method: string, params: unknown): Promise<unknown> {
    // The same for every thread, and asked of threads that nobody listens to as well.
    if (method === "currentTime/read")
      return { currentTimeAt: Math.floor(Date.now() / 1000) } satisfies CurrentTimeReadResponse;
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

  #guarded(tell: () => void): void {
    try {
      tell();
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

/** The thread that a notification or request names; the approval requests of the first protocol call it otherwise. */
function threadOf(params: unknown): string | undefined {
  if (typeof params !== "object" || params === null) return undefined;
  const { threadId, conversationId } = params as Record<string, unknown>;
  if (typeof threadId === "string") return threadId;
  return typeof conversationId === "string" ? conversationId : undefined;
}
