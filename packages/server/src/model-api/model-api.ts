/** The APIs that clients speak already: Chat Completions, Messages and Responses, in front of the host's models. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LoadedConfig } from "@pagurus/core/config/load-config";
import { isPagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { Pagurus } from "@pagurus/contract/host/host";
import { assertSessionKey } from "@pagurus/host/stores/files/keys";
import { attempt } from "@pagurus/core/data/attempt";
import type { Database } from "@pagurus/core/data/sqlite";
import type { JsonBounds } from "@pagurus/core/platform/json/json-bounds";
import type { JsonThread } from "@pagurus/core/platform/json/json-thread";
import type { Logger } from "@pagurus/core/platform/log";
import { dialectOf } from "@pagurus/gateway/dialect/dialects";
import { plainFault, WireCallError } from "@pagurus/gateway/server/faults";
import { ServerCall, type WireCall } from "@pagurus/gateway/server/gateway-call";
import { headersWithout } from "@pagurus/gateway/server/headers";
import { WIRE_LIMITS } from "@pagurus/gateway/server/limits";
import type { WrapHarness } from "@pagurus/gateway/wrap/wrap-harness";
import type { AgentTurns } from "./agent-turn.ts";
import { AgentModels } from "./agent-models.ts";
import { Conversations } from "./conversations.ts";
import { openModelApiDatabase } from "./database.ts";
import { LiveSessions } from "./live-sessions.ts";
import { lostThread } from "./message-thread.ts";
import { modelReply } from "./model-list.ts";
import { apiOf, endpointOf, ModelCalls } from "./model-calls.ts";
import { requestObject } from "./request-object.ts";
import { summarySealOf, type SummarySeal } from "./summary-seal.ts";
import { endedFrame, TOKEN_ENDED } from "./token-ended.ts";
import { SurfaceApi, type SentSurface } from "./surfaces/surface-api.ts";
import { shapeProblem } from "./request-shapes.ts";
import { PrefixIndex, type KnownSession } from "./prefix-index.ts";
import { ResponsesApi, type OpenFor } from "./responses/responses-api.ts";
import { defined } from "@pagurus/core/data/defined";

/** Who sends a request: a token, whose conversations no other token continues. */
export interface ModelApiCaller {
  /** Part of the keys of its sessions. */
  tokenId: string;
  allowsSession(key: string): boolean;
  allowsAgent(agentId: string): boolean;
  /** Workspace of its sessions. */
  folder: string;
  /** Fires when the token is revoked or expires: the answer ends with an error. */
  ended?: AbortSignal;
}

export interface ModelApi {
  /** Answers a request whose token, host and origin were checked. Never throws. */
  serve(request: IncomingMessage, response: ServerResponse, caller: ModelApiCaller): Promise<void>;
  /** Runs the background responses again that an earlier process did not end, once `ready` resolves; they can be cancelled before. */
  resume(ready?: Promise<void>): void;
  /** Deletes stored responses that are too old, and what is known of sessions that are gone, of a slice of them at each call. */
  prune(): void;
  /** Removes in the background what is known of sessions that are gone, their responses too: of one key, or of all. */
  forget(sessionKey?: string): void;
  /** Ends the open turns. */
  close(): Promise<void>;
}

export interface ModelApiOptions {
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  loaded: LoadedConfig;
  logger: Logger;
  agentId: string;
  pagurus: Pagurus;
  /** Registered with the host. */
  harness: WrapHarness;
  /** Turns of the models `agent/<id>`. */
  turns: AgentTurns;
  /** Registers what runs for a token, and calls back when that ends. */
  openFor?: OpenFor;
  /** Longest body of a request. */
  maxBodyBytes: number;
  /** Called with the length of each piece of a body. Throws `server_busy` if it may not be held. */
  onBytes?(request: IncomingMessage, bytes: number): void;
  /** Parses long bodies. */
  json: JsonThread;
  /** Called with each request to a direct surface that is passed on. */
  onSentSurface?(sent: SentSurface): void;
  /** Sessions whose state is kept in memory, those that were used last. Default 200. */
  maxLiveSessions?: number | undefined;
}

/** A conversation of thousands of messages with the schemas of a hundred tools. */
const BOUNDS: JsonBounds = { maxItems: 50_000, maxDepth: 100, maxMembers: 2_000 };
/** Sessions that `prune` looks at. */
const SLICE = 200;
const BEGINNING: KnownSession = { token: "", sessionKey: "" };
const SESSION_HEADER = "x-pagurus-session";
/** Headers that are for us and no provider. */
const OURS: ReadonlySet<string> = new Set(["authorization", "x-api-key", "cookie", SESSION_HEADER]);

class Api implements ModelApi {
  readonly #options: ModelApiOptions;
  readonly #db: Database;
  readonly #live: LiveSessions;
  readonly #calls: ModelCalls;
  readonly #responses: ResponsesApi;
  readonly #index: PrefixIndex;
  readonly #agents: AgentModels;
  readonly #surfaces: SurfaceApi;
  /** Where the last slice of `prune` ended. */
  #looked = BEGINNING;
  #requests = 0;
  #isClosed = false;

  constructor(options: ModelApiOptions) {
    const { pagurus, agentId, loaded, harness } = options;
    this.#options = options;
    this.#db = openModelApiDatabase(options.home);
    const index = new PrefixIndex(this.#db);
    const live = new LiveSessions({ ...options, index });
    const conversations = new Conversations({
      index,
      store: () => pagurus.sessions(agentId),
      busy: (key) => live.busy(key),
      isLive: (key) => live.has(key),
    });
    const agents = new AgentModels({ ...options, index, config: loaded.config });
    let seal: SummarySeal | undefined;
    const calls = new ModelCalls({
      ...options,
      index,
      live,
      conversations,
      agents,
      runtime: harness.id,
      seal: () => (seal ??= summarySealOf(options.home)),
    });
    this.#surfaces = new SurfaceApi({
      ...options,
      agents: live.agents,
      ...defined({ onSent: options.onSentSurface }),
    });
    this.#live = live;
    this.#index = index;
    this.#agents = agents;
    this.#calls = calls;
    this.#responses = new ResponsesApi({
      db: this.#db,
      check: (asked) => calls.check("/responses", asked),
      answer: (request) => calls.answer("/responses", request),
      ...defined({ openFor: options.openFor }),
    });
  }

  async serve(request: IncomingMessage, response: ServerResponse, caller: ModelApiCaller): Promise<void> {
    const url = request.url ?? "";
    const mark = url.indexOf("?");
    const path = (mark < 0 ? url : url.slice(0, mark)).slice("/v1".length);
    const server = new ServerCall(request, response, {
      limits: {
        ...WIRE_LIMITS,
        maxBodyBytes: this.#options.maxBodyBytes,
        onBytes: (bytes) => this.#busyProblem(request, bytes),
      },
      waits: false,
    });
    const call = server.as(this.#requests++, {
      path,
      query: mark < 0 ? "" : url.slice(mark),
      headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => !OURS.has(name))),
      rawHeaders: headersWithout(request.rawHeaders, OURS),
    });
    const { ended } = caller;
    const leave = (): void => server.leave(plainFault(path, "unauthorized", TOKEN_ENDED), endedFrame(path));
    ended?.addEventListener("abort", leave, { once: true });
    server.onOver(() => ended?.removeEventListener("abort", leave));
    try {
      await this.#serve(call, caller, request.headers[SESSION_HEADER]);
    } catch (error) {
      const { code, message } = toPagurusError(error);
      const fault =
        error instanceof WireCallError
          ? error.fault
          : code === "live_turn_too_large"
            ? "context_overflow"
            : code === "cost_limit"
              ? "cost_limit"
              : isPagurusError(error)
                ? "bad_request"
                : "internal";
      const api = apiOf(path);
      // Clients know the text of their own protocol, and compact.
      if (fault === "context_overflow" && api)
        return call.reply((await dialectOf(api)).fault(fault, message));
      if (fault === "internal") this.#options.logger.warn("model API failed at a request", { code });
      call.reply(
        plainFault(
          path,
          fault,
          fault === "internal" ? "The server failed at the request; see its log." : message,
        ),
      );
    }
  }

  async #serve(call: WireCall, caller: ModelApiCaller, named: string | string[] | undefined): Promise<void> {
    const { path, method } = call;
    if (method === "GET" && (path === "/models" || path.startsWith("/models/")))
      return call.reply(modelReply([...this.#calls.names, ...this.#surfaces.names], path));
    if (this.#responses.handles(call)) return this.#responses.route(call, caller.tokenId);
    if (this.#surfaces.handles(path))
      return this.#surfaces.serve(call, { ...caller, sessionKey: namedSession(named, caller) });
    const endpoint = endpointOf(path);
    if (!endpoint || method !== "POST")
      throw new WireCallError("not_found", `There is no ${method} /v1${path}; see the guide "Model API".`);
    const session = namedSession(named, caller);
    const { folder, tokenId: owner } = caller;
    const asked = await requestObject(await readable(call), BOUNDS, this.#options.json);
    const problem = shapeProblem(endpoint, asked);
    if (problem !== undefined) throw new WireCallError("bad_request", problem);
    const lost = lostThread(endpoint, asked);
    if (lost) return call.reply(lost);
    const request = { call, asked, owner, token: owner, folder, ...defined({ named: session }) };
    if (endpoint === "/responses") return this.#responses.create(request);
    if (endpoint === "/responses/compact" || endpoint === "/responses/input_tokens")
      return this.#calls.answer(endpoint, this.#responses.continued(request));
    return this.#calls.answer(endpoint, request);
  }

  #busyProblem(request: IncomingMessage, bytes: number): string | undefined {
    try {
      this.#options.onBytes?.(request, bytes);
      return undefined;
    } catch (error) {
      return toPagurusError(error).message;
    }
  }

  resume(ready: Promise<void> = Promise.resolve()): void {
    this.#responses.resume(ready);
  }

  prune(): void {
    this.#responses.prune();
    const slice = this.#index.sessionsAfter(this.#looked, SLICE);
    this.#looked = slice.length < SLICE ? BEGINNING : (slice.at(-1) ?? BEGINNING);
    for (const each of slice) this.#removeIfGone(each);
  }

  forget(sessionKey?: string): void {
    const { logger } = this.#options;
    void this.#forget(this.#index.sessions(sessionKey)).catch((error: unknown) =>
      logger.warn("conversations of the model API not pruned", { code: toPagurusError(error).code }),
    );
  }

  async #forget(known: readonly KnownSession[]): Promise<void> {
    for (const each of known) {
      await nextTurn();
      if (this.#isClosed) return;
      this.#removeIfGone(each);
    }
  }

  #removeIfGone(known: KnownSession): void {
    if (!this.#isGone(known)) return;
    this.#index.remove(known);
    this.#responses.forget(known.sessionKey);
  }

  #isGone({ token, sessionKey }: KnownSession): boolean {
    const { pagurus, agentId } = this.#options;
    // A new one has no session before its first answer.
    if (this.#live.busy(sessionKey) !== undefined || this.#agents.isBusy(sessionKey)) return false;
    const store = attempt(() => pagurus.sessions(this.#agents.agentOf(token) ?? agentId));
    // An agent that is not configured now may be again.
    return store !== undefined && store.find(sessionKey) === undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#responses.close();
    await this.#live.close();
    await this.#responses.closed();
    this.#db.close();
  }
}

/** The session of the header. Throws `WireCallError`, `session_key_invalid`. */
function namedSession(
  named: string | string[] | undefined,
  caller: Pick<ModelApiCaller, "allowsSession">,
): string | undefined {
  if (Array.isArray(named)) throw new WireCallError("bad_request", `Send the header ${SESSION_HEADER} once.`);
  if (named === undefined) return undefined;
  assertSessionKey(named);
  if (caller.allowsSession(named)) return named;
  throw new WireCallError("not_found", `The token may not use the session "${named}".`);
}

/** The body, which must not be compressed. Throws `WireCallError`. */
async function readable(call: WireCall): Promise<Buffer> {
  if (call.headers["content-encoding"] !== undefined)
    throw new WireCallError("bad_request", "Compressed bodies are not read; send the body as it is.");
  return call.body();
}

/** Throws SQLite's errors if the home cannot be written. */
export function createModelApi(options: ModelApiOptions): ModelApi {
  return new Api(options);
}
