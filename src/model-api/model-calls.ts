/** Answers requests by a model of the catalog, in the session that each continues, or by an agent. */
import type { PagurusConfig } from "../config/config-types.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { WireApi } from "../contract/harness/wire.ts";
import { stringOf } from "../data/record-fields.ts";
import { dialectOf } from "../gateway/dialect/dialects.ts";
import { WireRouteHandler } from "../gateway/request/exchange.ts";
import { WireCallError } from "../gateway/server/faults.ts";
import type { WireCall } from "../gateway/server/gateway-call.ts";
import { upstreamFor } from "../gateway/upstream/for-model.ts";
import { WrapObserver } from "../gateway/wrap/observer.ts";
import type { ResolvedModel } from "../model/provider-types.ts";
import { catalogIds, KNOWN_PROVIDERS } from "../model/model-catalog.ts";
import { resolveModel } from "../model/resolve.ts";
import type { Logger } from "../platform/log.ts";
import type { AgentModels } from "./agent-models.ts";
import type { Conversations } from "./conversations.ts";
import { checkFields, type Endpoint } from "./fields.ts";
import { checkRequestLength } from "./request-length.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { PrefixIndex } from "./prefix-index.ts";
import { sealedCall } from "./sealed-call.ts";
import { openElements, type GetSeal } from "./sealed-elements.ts";
import type { WholeRequest } from "./whole-request.ts";

const APIS: Readonly<Record<Endpoint, WireApi>> = {
  "/chat/completions": "openai-completions",
  "/messages": "anthropic-messages",
  "/messages/count_tokens": "anthropic-messages",
  "/responses": "openai-responses",
  "/responses/compact": "openai-responses",
};

export interface ModelCallsOptions {
  loaded: LoadedConfig;
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  index: PrefixIndex;
  conversations: Conversations;
  live: LiveSessions;
  agents: AgentModels;
  seal: GetSeal;
  /** Id of the runtime of these calls. */
  runtime: string;
}

/** The protocol of a path; undefined for one that is no endpoint. */
export function apiOf(path: string): WireApi | undefined {
  const endpoint = endpointOf(path);
  return endpoint && APIS[endpoint];
}

export function endpointOf(path: string): Endpoint | undefined {
  return Object.keys(APIS).find((each): each is Endpoint => each === path);
}

export class ModelCalls {
  readonly #options: ModelCallsOptions;
  /** Refs that a client may name. */
  readonly #refs: string[];

  constructor(options: ModelCallsOptions) {
    this.#options = options;
    this.#refs = usableModels(options.loaded.config, options.env);
  }

  /** Models and agents that a client may name. */
  get names(): string[] {
    return [...this.#refs, ...this.#options.agents.names];
  }

  /** Checks a request that is answered later. Throws `WireCallError`, `credential_missing`, `config_invalid`. */
  async check(endpoint: Endpoint, asked: Record<string, unknown>): Promise<void> {
    const { agents, seal } = this.#options;
    const ref = stringOf(asked["model"]);
    if (agents.has(ref)) return agents.checkLength(asked);
    await checkRequestLength(asked, this.#model(ref).info);
    this.#read(endpoint, openElements(asked, seal));
  }

  /** Throws `WireCallError`, `credential_missing`, `config_invalid`, all before anything is sent. */
  async answer(endpoint: Endpoint, request: WholeRequest): Promise<void> {
    const { call, owner, folder } = request;
    const { agents, conversations, live, index, seal } = this.#options;
    const api = APIS[endpoint];
    const ref = stringOf(request.asked["model"]);
    const isAgent = agents.has(ref);
    if (!isAgent) await checkRequestLength(request.asked, this.#model(ref).info);
    const asked = openElements(request.asked, seal);
    if (isAgent) return agents.serve({ ...request, asked }, api);
    const { model, body } = this.#read(endpoint, asked);
    const rewritten: WireCall = { ...call, body: () => Promise.resolve(body) };
    if (endpoint === "/messages/count_tokens") return this.#count(rewritten, api, model);
    const dialect = await dialectOf(api);
    const wire = dialect.read(call.path, call.headers, body);
    if (wire.kind === "unknown" || wire.kind === "count")
      throw new WireCallError(
        "bad_request",
        "The request has no message of a user, or one of an unknown role.",
      );
    const sealed = sealedCall(rewritten, wire, seal);
    let served = Promise.resolve();
    await conversations.place(request, wire, async (place) => {
      const session = await live.open(place, { owner, folder });
      index.note(owner, place.sessionKey, place.chain);
      request.placed?.(place.sessionKey);
      // Not awaited here: the owner's next request only waits for the decision.
      served = session.serve(sealed, { api, model, prefix: place.chain.at(-1) });
    });
    await served;
  }

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
    if (this.#refs.includes(ref)) return resolveModel(ref, loaded.config, env);
    throw new WireCallError("not_found", `There is no model "${ref}"; there are: ${this.names.join(", ")}.`);
  }

  async #count(call: WireCall, api: WireApi, model: ResolvedModel): Promise<void> {
    const { logger, runtime } = this.#options;
    const handler = new WireRouteHandler({
      id: "api-count",
      sessionKey: "",
      runtime,
      dialect: await dialectOf(api),
      governor: new WrapObserver(upstreamFor(model, api, "")),
      logger,
    });
    await handler.handle(call);
  }
}

/** The models that a client may name: refs of those of configured providers with a key, sorted. */
function usableModels(config: PagurusConfig, env: Readonly<Record<string, string | undefined>>): string[] {
  const configured = config.models?.providers ?? {};
  const refs = new Set<string>();
  for (const provider of new Set([...Object.keys(configured), ...Object.keys(KNOWN_PROVIDERS)])) {
    const ids = [...(configured[provider]?.models ?? []).map(({ id }) => id), ...catalogIds(provider)];
    for (const id of ids) refs.add(`${provider}/${id}`);
  }
  return [...refs].filter((ref) => isUsable(ref, config, env)).sort();
}

function isUsable(
  ref: string,
  config: PagurusConfig,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  try {
    resolveModel(ref, config, env);
    return true;
  } catch {
    return false;
  }
}
