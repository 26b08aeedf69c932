/** Child process of an agent: start, handshake, requests, and the end of its whole process group. */
import { errorText } from "@pagurus/core/data/error-text";
import type { AgentCapabilities, ClientConnection } from "@agentclientprotocol/sdk/unstable";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { type Fields, listOf, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import { withDeadline } from "@pagurus/core/platform/deadline";
import type { EndDeadlines } from "@pagurus/core/platform/process-group";
import { RpcChild } from "@pagurus/core/rpc/rpc-child";
import { findProgram, type Agent } from "./agents.ts";
import { authMethodsOf, type AuthMethod } from "./agents/auth-methods.ts";
import { messageStream, MOST_LINE_MB } from "./acp-messages.ts";

const PROTOCOL_VERSION = 1;
const START_SECONDS = 60;
/** Limit of invalid lines before its first answer; a program that writes more is not an agent. */
const MOST_FOREIGN_LINES = 20;
/** How long the output is still read after the child has ended, ms. */
const OUTPUT_CLOSE_MS = 300;
/** A program that does not answer does not notice the end of its input either. */
const HANGING: EndDeadlines = { eofMs: 50, termMs: 1_000, killMs: 2_000 };
const GOES_ON = "What was done until then is in the session; the next turn starts the agent again.";

/** Callbacks for the messages of a session. None of these may throw. */
export interface SessionListener {
  /** The `update` of each `session/update`, in the order of the wire. */
  update(update: Fields): void;
  /** Permission request of the agent. Returns the id of the chosen option, or undefined when the turn was cancelled. */
  permission(params: Fields): Promise<string | undefined>;
}

/** Capabilities that an agent declares, as far as we use them. */
export interface AgentTraits {
  name: string;
  version: string;
  canLoad: boolean;
  canResume: boolean;
  canClose: boolean;
  /** Accepts a title for a session, and then does not ask its model for one. */
  canTitle: boolean;
  takesImages: boolean;
  /** Accepts extra instructions, as `systemPrompt` of a session. */
  takesSystemPrompt: boolean;
  /** Accepts an endpoint (`providers/set`). */
  takesProviders: boolean;
  /** Accepts input while a prompt runs (`_session/steering`). */
  canSteer: boolean;
  authMethods: readonly AuthMethod[];
}

export interface AskOptions {
  deadlineMs?: number;
  signal?: AbortSignal | undefined;
  /** Called with an answer that arrives after its request was abandoned. */
  late?: ((answer: Fields) => void) | undefined;
}

export interface AgentProcessOptions {
  agent: Agent;
  /** The whole environment. */
  env: Readonly<Record<string, string | undefined>>;
  clientVersion: string;
  /** No caller waits for the process any more. */
  signal: AbortSignal;
  warn(sentence: string, details?: Record<string, unknown>): void;
}

/** Error codes of ACP in addition to those of JSON-RPC. */
const AUTH_REQUIRED = -32_000;

export function startSecondsOf({ entry }: Agent): number {
  return entry.startSeconds ?? START_SECONDS;
}

export class AgentProcess {
  readonly agent: Agent;
  readonly env: Readonly<Record<string, string | undefined>>;
  traits: AgentTraits = traitsOf({});
  readonly pid: number;
  readonly #child: RpcChild;
  readonly #warn: AgentProcessOptions["warn"];
  readonly #listeners = new Map<string, SessionListener>();
  /** Names of the commands that a session accepts as a prompt; sent at any time. */
  readonly #commands = new Map<string, readonly string[]>();
  #connection: ClientConnection | undefined;
  #closed: PagurusError | undefined;
  readonly #gone = Promise.withResolvers<PagurusError>();
  #isIntroduced = false;

  /** Throws `runtime_failed`, `model_auth`. */
  static async start(options: AgentProcessOptions): Promise<AgentProcess> {
    const { agent, env } = options;
    const found = findProgram(agent, env);
    if ("reason" in found)
      throw new PagurusError("runtime_failed", found.reason, { details: { agentId: agent.id } });
    const child = await RpcChild.start({
      command: found.command,
      args: found.args,
      env,
      cwd: agent.entry.cwd,
      label: agent.label,
    });
    const started = new AgentProcess(child, options);
    void child.exited.then(() => child.end());
    try {
      await started.#introduce(options);
      return started;
    } catch (error) {
      const failure = started.#startFailed(error, [found.command, ...found.args].join(" "));
      await started.end(failure);
      throw failure;
    }
  }

  private constructor(child: RpcChild, { agent, env, warn }: AgentProcessOptions) {
    this.agent = agent;
    this.env = env;
    this.#child = child;
    this.#warn = warn;
    this.pid = child.pid;
    // The child's own children may keep its output open.
    void child.exited.then((reason) =>
      setTimeout(() => this.#close(this.#reasonFor(reason)), OUTPUT_CLOSE_MS).unref(),
    );
  }

  get isAlive(): boolean {
    return this.#child.isAlive && !this.#closed;
  }

  /** Resolves when nothing more can arrive; never rejects. */
  get gone(): Promise<PagurusError> {
    return this.#gone.promise;
  }

  /**
   * Rejects with `RequestRefused` for an error response, `runtime_failed` when the process is gone or the deadline passes,
   * `turn_aborted` on the signal.
   */
  async ask(method: string, params: unknown, { deadlineMs, signal, late }: AskOptions = {}): Promise<Fields> {
    const connection = this.#connection;
    if (this.#closed || !connection) throw this.#closed ?? this.#notRunning();
    // Settles at the latest when the connection ends.
    const answered = connection.agent.request<unknown, unknown>(method, params);
    let isOver = false;
    answered.then(
      (answer) => isOver && late?.(recordOf(answer)),
      () => undefined,
    );
    try {
      const answer =
        deadlineMs === undefined && !signal
          ? await answered
          : await withDeadline(() => answered, {
              ms: deadlineMs ?? Number.MAX_SAFE_INTEGER,
              label: `${this.agent.label}: ${method}`,
              signal,
              code: "runtime_failed",
            });
      return recordOf(answer);
    } catch (error) {
      isOver = true;
      throw await this.#toOurError(error);
    }
  }

  notify(method: string, params: unknown): void {
    this.#connection?.agent.notify(method, params).catch(() => undefined);
  }

  /** Undefined while the agent has sent none. */
  commandsOf(sessionId: string): readonly string[] | undefined {
    return this.#commands.get(sessionId);
  }

  /** Drops the session's data; no later turn continues it. */
  forget(sessionId: string): void {
    this.#commands.delete(sessionId);
    this.#listeners.delete(sessionId);
  }

  /** The newest listener of a session gets its messages; the returned function removes it. */
  listen(sessionId: string, listener: SessionListener): () => void {
    this.#listeners.set(sessionId, listener);
    return () => {
      if (this.#listeners.get(sessionId) === listener) this.#listeners.delete(sessionId);
    };
  }

  /** Rejects open requests with the reason, then ends the child and its group; without delays when it `hangs`. */
  end(reason: PagurusError, hangs = false): Promise<void> {
    this.#close(reason);
    return this.#child.end(hangs ? HANGING : undefined);
  }

  async #introduce({ clientVersion, signal }: AgentProcessOptions): Promise<void> {
    const ms = startSecondsOf(this.agent) * 1_000;
    await withDeadline(
      async () => {
        // The library loads while the program starts.
        const sdk = await import("@agentclientprotocol/sdk/unstable");
        const { client, methods } = sdk;
        this.#connection = client({ name: "pagurus" })
          .onNotification("*", () => undefined)
          .onRequest(
            methods.client.session.requestPermission,
            (params: unknown) => recordOf(params),
            ({ params }) => this.#asked(params),
          )
          .connect(
            messageStream(this.#child, {
              update: (params) => this.#updated(recordOf(params)),
              skipped: (count) => this.#skipped(count),
              tooLong: () => void this.end(this.#tooLong(), true),
            }),
          );
        void this.#connection.closed.then(() => this.#ended());
        const answer = await this.ask(methods.agent.initialize, {
          protocolVersion: PROTOCOL_VERSION,
          clientInfo: { name: "pagurus", title: "Pagurus", version: clientVersion },
          clientCapabilities: { session: { compaction: {}, notices: {} } },
        });
        this.#checkVersion(answer);
        this.traits = traitsOf(answer);
        this.#isIntroduced = true;
      },
      { ms, label: "its answer to initialize", signal, code: "runtime_failed" },
    );
  }

  #checkVersion({ protocolVersion }: Fields): void {
    if (protocolVersion === PROTOCOL_VERSION) return;
    const spoken = typeof protocolVersion === "number" ? `version ${protocolVersion}` : "no version";
    throw new PagurusError(
      "runtime_failed",
      `it speaks ${spoken} of the Agent Client Protocol and Pagurus version ${PROTOCOL_VERSION}; install a version of it that does too.`,
    );
  }

  #updated(params: Fields): void {
    const id = stringOf(params["sessionId"]);
    const update = recordOf(params["update"]);
    if (update["sessionUpdate"] === "available_commands_update")
      this.#commands.set(
        id,
        listOf(update["availableCommands"]).map((command) => stringOf(recordOf(command)["name"])),
      );
    try {
      this.#listeners.get(id)?.update(update);
    } catch (error) {
      this.#warn("An update of an agent could not be handled.", { error: String(error) });
    }
  }

  async #asked(params: Fields): Promise<object> {
    const listener = this.#listeners.get(stringOf(params["sessionId"]));
    // Between turns permission cannot be granted.
    const optionId = await listener?.permission(params);
    return { outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
  }

  #skipped(count: number): void {
    if (count === 1)
      this.#warn("An agent wrote a line that is not a message; such lines are skipped.", {
        agentId: this.agent.id,
      });
    if (count < MOST_FOREIGN_LINES || this.#isIntroduced) return;
    const what = `its first ${MOST_FOREIGN_LINES} lines are not messages of the Agent Client Protocol; check its command.`;
    void this.end(new PagurusError("runtime_failed", what));
  }

  #tooLong(): PagurusError {
    const what = `${this.agent.label} wrote a message of more than ${MOST_LINE_MB} MB and was ended.`;
    return this.#reasonFor(new PagurusError("runtime_failed", what));
  }

  async #ended(): Promise<void> {
    this.#close(this.#reasonFor(await this.#child.reasonOfEnd()));
    // The connection may have ended before the child: a line too long, an output closed.
    void this.#child.end();
  }

  #close(reason: PagurusError): void {
    if (this.#closed) return;
    this.#closed = reason;
    this.#gone.resolve(reason);
    this.#connection?.close(reason);
    this.#listeners.clear();
  }

  #notRunning(): PagurusError {
    return new PagurusError("runtime_failed", `${this.agent.label} is not running.`);
  }

  /** Error for running turns when it ends during work; an end at its start is reported by the start. */
  #reasonFor(reason: PagurusError): PagurusError {
    if (!this.#isIntroduced) return reason;
    const { code, message, cause, details } = reason;
    return new PagurusError(code, `${message} ${GOES_ON}`, { cause, details });
  }

  #startFailed(error: unknown, line: string): PagurusError {
    const why = errorText(error);
    const code = isPagurusError(error) ? error.code : "runtime_failed";
    const words = /took longer/.test(why) ? this.#child.lastWords() : "";
    const last = words === "" ? "" : ` Its last output was: ${words}`;
    return new PagurusError(code, `${this.agent.label} did not start (\`${line}\`): ${why}${last}`, {
      cause: error,
      details: { agentId: this.agent.id },
    });
  }

  /** Maps the library's rejections to our errors. */
  async #toOurError(error: unknown): Promise<unknown> {
    if (isPagurusError(error)) return error;
    const { code, message, data } = recordOf(error) as { code?: unknown; message?: unknown; data?: unknown };
    if (typeof code === "number") return new RequestRefused(stringOf(message), code, data);
    return this.#closed ?? this.#reasonFor(await this.#child.reasonOfEnd());
  }
}

/** Error response of an agent. */
export class RequestRefused extends Error {
  override readonly name = "RequestRefused";
  readonly code: number;
  readonly data: unknown;

  constructor(message: string, code: number, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }

  get needsLogin(): boolean {
    return this.code === AUTH_REQUIRED;
  }
}

function traitsOf(answer: Fields): AgentTraits {
  const { agentCapabilities, agentInfo, authMethods, _meta } = answer;
  const capabilities = recordOf(agentCapabilities) as AgentCapabilities & Fields;
  const session = recordOf(capabilities.sessionCapabilities);
  const has = (name: string): boolean => typeof session[name] === "object" && session[name] !== null;
  return {
    name: stringOf(recordOf(agentInfo)["title"]) || stringOf(recordOf(agentInfo)["name"]),
    version: stringOf(recordOf(agentInfo)["version"]) || "unknown",
    canLoad: capabilities.loadSession === true,
    canResume: has("resume"),
    canClose: has("close"),
    canTitle: has("title"),
    takesImages: recordOf(capabilities.promptCapabilities)["image"] === true,
    takesSystemPrompt: has("systemPrompt"),
    takesProviders: typeof capabilities.providers === "object" && capabilities.providers !== null,
    canSteer: recordOf(recordOf(_meta)["steering"])["supported"] === true,
    authMethods: authMethodsOf(authMethods),
  };
}
