/** The APIs that clients speak already: Chat Completions, Messages and Responses, in front of the host's models. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { LoadedConfig } from "../config/load-config.ts";
import { isPagurusError, toPagurusError } from "../contract/errors.ts";
import type { Pagurus } from "../contract/host/host.ts";
import type { WireApi } from "../contract/harness/wire.ts";
import { recordOf, stringOf } from "../data/record-fields.ts";
import { resolveModel } from "../model/resolve.ts";
import type { ResolvedModel } from "../model/provider-types.ts";
import type { Logger } from "../platform/log.ts";
import { dialectOf } from "../gateway/dialect/dialects.ts";
import { WireRouteHandler } from "../gateway/request/exchange.ts";
import { plainFault, WireCallError } from "../gateway/server/faults.ts";
import { ServerCall, type WireCall } from "../gateway/server/gateway-call.ts";
import { WIRE_LIMITS } from "../gateway/server/limits.ts";
import { upstreamFor } from "../gateway/upstream/for-model.ts";
import { WrapHarness } from "../gateway/wrap/wrap-harness.ts";
import { WrapObserver } from "../gateway/wrap/observer.ts";
import type { AgentTurns } from "./agent-turn.ts";
import { AgentModels } from "./agent-models.ts";
import { Conversations, type Place } from "./conversations.ts";
import { checkFields, type Endpoint } from "./fields.ts";
import { LiveSession } from "./live-session.ts";
import { nextDigest } from "./message-chain.ts";
import { usableModels } from "./models.ts";
import { PrefixIndex } from "./prefix-index.ts";

/** Who sends a request: a token, whose conversations no other token continues. */
export interface ModelApiCaller {
  /** Part of the keys of its sessions. */
  tokenId: string;
  allowsSession(key: string): boolean;
  /** Workspace of its sessions. */
  folder: string;
}

export interface ModelApi {
  /** Whether a path is one of these APIs. */
  handles(path: string): boolean;
  /** Answers a request whose token, host and origin were checked. Never throws. */
  serve(request: IncomingMessage, response: ServerResponse, caller: ModelApiCaller): Promise<void>;
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
}

const APIS: Readonly<Record<Endpoint, WireApi>> = {
  "/chat/completions": "openai-completions",
  "/messages": "anthropic-messages",
  "/messages/count_tokens": "anthropic-messages",
  "/responses": "openai-responses",
  "/responses/compact": "openai-responses",
};
const SESSION_HEADER = "x-pagurus-session";
/** Headers that are for us and no provider. */
const OURS: ReadonlySet<string> = new Set(["authorization", "x-api-key", "cookie", SESSION_HEADER]);
const MOST_LIVE = 200;

/** The runtime of clients' model calls; the host has to be created with it. */
export function modelApiHarness(): WrapHarness {
  return new WrapHarness("api", "A client of the server's model API");
}

function endpointOf(path: string): Endpoint | undefined {
  return Object.keys(APIS).find((each): each is Endpoint => each === path);
}

class Api implements ModelApi {
  readonly #options: ModelApiOptions;
  readonly #index: PrefixIndex;
  readonly #conversations: Conversations;
  /** In order of last use. */
  readonly #live = new Map<string, LiveSession>();
  readonly #chains = new Map<string, string[]>();
  readonly #agents: AgentModels;
  /** Refs that a client may name. */
  readonly #refs: string[];
  #requests = 0;

  constructor(options: ModelApiOptions) {
    this.#options = options;
    this.#refs = usableModels(options.loaded.config, options.env);
    this.#index = new PrefixIndex(options.home);
    this.#agents = new AgentModels({ ...options, index: this.#index, config: options.loaded.config });
    this.#conversations = new Conversations({
      index: this.#index,
      store: () => options.pagurus.sessions(options.agentId),
      busy: (key) => (this.#live.get(key)?.isBusy ? this.#live.get(key)?.idle() : undefined),
    });
  }

  handles(path: string): boolean {
    return path.startsWith("/v1/");
  }

  async serve(request: IncomingMessage, response: ServerResponse, caller: ModelApiCaller): Promise<void> {
    const url = request.url ?? "";
    const mark = url.indexOf("?");
    const path = (mark < 0 ? url : url.slice(0, mark)).slice("/v1".length);
    const server = new ServerCall(request, response, { limits: WIRE_LIMITS, waits: false });
    const call = server.as(this.#requests++, {
      path,
      query: mark < 0 ? "" : url.slice(mark),
      headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => !OURS.has(name))),
      rawHeaders: withoutOurs(request.rawHeaders),
    });
    try {
      await this.#serve(call, caller, request.headers[SESSION_HEADER]);
    } catch (error) {
      const { code, message } = toPagurusError(error);
      const fault =
        error instanceof WireCallError ? error.fault : isPagurusError(error) ? "bad_request" : "internal";
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
    if (path === "/models" && method === "GET") return this.#models(call);
    const endpoint = endpointOf(path);
    if (!endpoint || method !== "POST")
      throw new WireCallError("not_found", `There is no ${method} /v1${path}; see the guide "Model API".`);
    if (typeof named === "string" && !caller.allowsSession(named))
      throw new WireCallError("not_found", `The token may not use the session "${named}".`);
    const asked = parsed(await readable(call));
    const key = typeof named === "string" ? named : undefined;
    if (this.#agents.has(stringOf(asked["model"])))
      return this.#agents.serve(call, { asked, api: APIS[endpoint], tokenId: caller.tokenId, named: key });
    const { model, body } = this.#read(endpoint, asked);
    const rewritten: WireCall = { ...call, body: () => Promise.resolve(body) };
    const api = APIS[endpoint];
    if (endpoint === "/messages/count_tokens") return this.#count(rewritten, api, model);
    const dialect = await dialectOf(api);
    const request = dialect.read(path, call.headers, body);
    if (request.kind === "unknown" || request.kind === "count")
      throw new WireCallError(
        "bad_request",
        "The request has no message of a user, or one of an unknown role.",
      );
    let served = Promise.resolve();
    await this.#conversations.place(caller.tokenId, request, key, async (place) => {
      const live = await this.#open(place, caller);
      this.#index.note(caller.tokenId, place.sessionKey, place.chain);
      // Not awaited here: the token's next request only waits for the decision.
      served = live.serve(rewritten, api, model);
    });
    await served;
  }

  /** Throws `WireCallError`, `credential_missing`, `config_invalid`. */
  #read(endpoint: Endpoint, asked: Record<string, unknown>): { model: ResolvedModel; body: Buffer } {
    const model = this.#model(stringOf(asked["model"]));
    const { body, problem } = checkFields(endpoint, asked, model.info.api !== APIS[endpoint]);
    if (problem !== undefined) throw new WireCallError("bad_request", problem);
    body["model"] = model.info.id;
    if (typeof body["input"] === "string") body["input"] = [{ role: "user", content: body["input"] }];
    // The conversation is stored here; the provider needs no copy.
    if (endpoint === "/responses") body["store"] = false;
    return { model, body: Buffer.from(JSON.stringify(body)) };
  }

  #model(ref: string): ResolvedModel {
    const { env, loaded } = this.#options;
    if (!this.#refs.includes(ref)) {
      const known = [...this.#refs, ...this.#agents.names].join(", ");
      throw new WireCallError("not_found", `There is no model "${ref}"; there are: ${known}.`);
    }
    return resolveModel(ref, loaded.config, env);
  }

  #models(call: WireCall): void {
    const data = [...this.#refs, ...this.#agents.names].map((id) => ({
      id,
      object: "model",
      created: 0,
      owned_by: id.slice(0, id.indexOf("/")),
    }));
    const body = Buffer.from(JSON.stringify({ object: "list", data }));
    call.reply({ status: 200, headers: { "content-type": "application/json" }, body });
  }

  async #count(call: WireCall, api: WireApi, model: ResolvedModel): Promise<void> {
    const { logger } = this.#options;
    const handler = new WireRouteHandler({
      id: "api-count",
      sessionKey: "",
      runtime: this.#options.harness.id,
      dialect: await dialectOf(api),
      governor: new WrapObserver(upstreamFor(model, api, "")),
      logger,
    });
    await handler.handle(call);
  }

  async #open({ sessionKey, chain, hasGap }: Place, caller: ModelApiCaller): Promise<LiveSession> {
    const known = this.#live.get(sessionKey);
    this.#chains.set(sessionKey, chain);
    this.#live.delete(sessionKey);
    // One that begins again appends what the session lacks.
    if (known && hasGap) await known.close();
    const live = known && !hasGap ? known : this.#begin(sessionKey, caller);
    this.#live.set(sessionKey, live);
    for (const [key, other] of this.#live) {
      if (this.#live.size <= MOST_LIVE) break;
      if (other.isBusy || other === live) continue;
      this.#live.delete(key);
      this.#chains.delete(key);
      void other.close();
    }
    return live;
  }

  #begin(sessionKey: string, { tokenId, folder }: ModelApiCaller): LiveSession {
    return new LiveSession({
      ...this.#options,
      sessionKey,
      cwd: folder,
      onAnswer: (message) => {
        const chain = this.#chains.get(sessionKey) ?? [];
        const next = [...chain, nextDigest(chain.at(-1) ?? "", message)];
        this.#chains.set(sessionKey, next);
        this.#index.note(tokenId, sessionKey, next);
      },
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#live.values()].map((live) => live.close()));
    this.#live.clear();
    this.#index.close();
  }
}

function withoutOurs(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    if (!OURS.has(rawHeaders[at]?.toLowerCase() ?? ""))
      kept.push(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  return kept;
}

/** The body, which must not be compressed. Throws `WireCallError`. */
async function readable(call: WireCall): Promise<Buffer> {
  if (call.headers["content-encoding"] !== undefined)
    throw new WireCallError("bad_request", "Compressed bodies are not read; send the body as it is.");
  return call.body();
}

/** Throws `WireCallError`. */
function parsed(bytes: Buffer): Record<string, unknown> {
  try {
    return { ...recordOf(JSON.parse(bytes.toString("utf8"))) };
  } catch {
    throw new WireCallError("bad_request", "The body is not JSON.");
  }
}

/** Throws SQLite's errors if the home cannot be written. */
export function createModelApi(options: ModelApiOptions): ModelApi {
  return new Api(options);
}
