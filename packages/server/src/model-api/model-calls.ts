/** Answers requests by a model of the catalog, in the session that each continues, or by an agent. */
import type { PagurusConfig } from "@pagurus/core/config/config-types";
import type { LoadedConfig } from "@pagurus/core/config/load-config";
import type { WireApi } from "@pagurus/contract/harness/wire";
import { attempt } from "@pagurus/core/data/attempt";
import { stringOf } from "@pagurus/core/data/record-fields";
import { dialectOf } from "@pagurus/gateway/dialect/dialects";
import { WireRouteHandler } from "@pagurus/gateway/request/exchange";
import { WireCallError } from "@pagurus/gateway/server/faults";
import type { WireCall } from "@pagurus/gateway/server/gateway-call";
import { upstreamFor } from "@pagurus/gateway/upstream/for-model";
import { translatingUpstream } from "@pagurus/gateway/upstream/translate/translate-upstream";
import type { Upstream } from "@pagurus/gateway/upstream/upstream";
import { WrapObserver } from "@pagurus/gateway/wrap/observer";
import type { ResolvedModel } from "@pagurus/core/model/provider-types";
import { catalogIds, KNOWN_PROVIDERS } from "@pagurus/core/model/model-catalog";
import { describeModel, resolveModel } from "@pagurus/core/model/resolve";
import { longJson } from "@pagurus/core/platform/json/long-json";
import type { Logger } from "@pagurus/core/platform/log";
import { LONG_BYTES, nextSlice } from "@pagurus/core/platform/pace";
import type { AgentModels } from "./agent-models.ts";
import type { Conversations } from "./conversations.ts";
import { checkFields, type Endpoint } from "./fields.ts";
import { checkRequestLength, checkRequestSize } from "./request-length.ts";
import type { LiveSessions } from "./live-sessions.ts";
import type { PrefixIndex } from "./prefix-index.ts";
import { sealedCall } from "./sealed-call.ts";
import { openElements, type GetSeal } from "./sealed-elements.ts";
import { namingUnread } from "./unread-fields.ts";
import { providerTools, untranslatable } from "./untranslatable.ts";
import type { WholeRequest } from "./whole-request.ts";

const APIS: Readonly<Record<Endpoint, WireApi>> = {
  "/chat/completions": "openai-completions",
  "/messages": "anthropic-messages",
  "/messages/count_tokens": "anthropic-messages",
  "/responses": "openai-responses",
  "/responses/compact": "openai-responses",
  "/responses/input_tokens": "openai-responses",
};

/** Statuses of a server that has no endpoint for counting. */
const NO_SUCH_ENDPOINT: ReadonlySet<number> = new Set([404, 405, 501]);

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
    if (checkRequestSize(asked)) await nextSlice();
    if (agents.has(ref)) return agents.checkLength(asked);
    await checkRequestLength(asked, this.#model(ref).info);
    this.#checked(endpoint, openElements(asked, seal));
  }

  /** Throws `WireCallError`, `credential_missing`, `config_invalid`, all before anything is sent. */
  async answer(endpoint: Endpoint, request: WholeRequest): Promise<void> {
    const { call, owner, folder } = request;
    const { agents, conversations, live, index, seal } = this.#options;
    const api = APIS[endpoint];
    const ref = stringOf(request.asked["model"]);
    const isAgent = agents.has(ref);
    const isLarge = checkRequestSize(request.asked);
    if (isLarge) await nextSlice();
    if (!isAgent) await checkRequestLength(request.asked, this.#model(ref).info);
    if (isLarge) await nextSlice();
    const asked = openElements(request.asked, seal);
    if (isAgent) return agents.serve({ ...request, asked }, api);
    const { model, fields, unread } = this.#checked(endpoint, asked);
    const body = await longJson(fields);
    const isLong = body.length > LONG_BYTES;
    if (isLong) await nextSlice();
    const rewritten: WireCall = { ...namingUnread(call, unread), body: () => Promise.resolve(body) };
    if (endpoint === "/messages/count_tokens" || endpoint === "/responses/input_tokens")
      return this.#count(rewritten, api, model);
    const dialect = await dialectOf(api);
    const wire = dialect.read(call.path, call.headers, body);
    if (isLong) await nextSlice();
    if (wire.kind === "unknown" || wire.kind === "count")
      throw new WireCallError(
        "bad_request",
        `The request cannot be answered: ${wire.unknownBecause ?? "it only counts tokens"}.`,
      );
    const sealed = sealedCall(rewritten, wire, seal);
    let served = Promise.resolve();
    await conversations.place(request, wire, async (place) => {
      if (isLong) await nextSlice();
      const session = await live.open(place, { owner, folder });
      index.note(owner, place.sessionKey, place.chain);
      if (isLong) await nextSlice();
      request.placed?.(place.sessionKey);
      // Not awaited here: the owner's next request only waits for the decision.
      served = session.serve(sealed, { api, model, prefix: place.chain.at(-1) });
    });
    await served;
  }

  /** The fields that the model's provider gets, and the names of those that it does not. Throws `WireCallError`. */
  #checked(
    endpoint: Endpoint,
    asked: Record<string, unknown>,
  ): { model: ResolvedModel; fields: Record<string, unknown>; unread: string[] } {
    const model = this.#model(stringOf(asked["model"]));
    const api = APIS[endpoint];
    const translates = model.info.api !== api;
    const { body, unread, problem } = checkFields(endpoint, asked, translates);
    const unsent = problem ?? (translates ? untranslatable(api, asked, model.info) : undefined);
    if (unsent !== undefined) throw new WireCallError("bad_request", unsent);
    if (translates) unread.push(...providerTools(api, asked));
    body["model"] = model.info.id;
    if (typeof body["input"] === "string") body["input"] = [{ role: "user", content: body["input"] }];
    // The conversation is stored here; the provider needs no copy.
    if (endpoint === "/responses") body["store"] = false;
    return { model, fields: body, unread };
  }

  #model(ref: string): ResolvedModel {
    const { env, loaded } = this.#options;
    if (this.#refs.includes(ref)) return resolveModel(ref, loaded.config, env);
    const surfaces = attempt(() => describeModel(ref, loaded.config).surfaces);
    throw new WireCallError(
      "not_found",
      surfaces
        ? `The model "${ref}" serves ${surfaces.join(" and ")} alone; there are: ${this.names.join(", ")}.`
        : `There is no model "${ref}"; there are: ${this.names.join(", ")}.`,
    );
  }

  async #count(call: WireCall, api: WireApi, model: ResolvedModel): Promise<void> {
    const { logger, runtime } = this.#options;
    const dialect = await dialectOf(api);
    const count = async (by: Upstream, counted: WireCall): Promise<void> => {
      const route = {
        id: "api-count",
        sessionKey: "",
        runtime,
        dialect,
        governor: new WrapObserver(by),
        logger,
      };
      await new WireRouteHandler(route).handle(counted);
    };
    let isMissing = false;
    const unlessMissing: WireCall["pass"] = async (answer, tap) => {
      isMissing = NO_SUCH_ENDPOINT.has(answer.status);
      if (!isMissing) return call.pass(answer, tap);
      answer.stream.destroy();
      return { cut: false, left: false, bytes: 0 };
    };
    await count(upstreamFor(model, api, "", { agents: this.#options.live.agents }), {
      ...call,
      pass: unlessMissing,
    });
    // Servers that are only compatible have no such endpoint; then the tokens are estimated.
    if (isMissing) await count(translatingUpstream({ model }), call);
  }
}

/** The models that a client may name: refs of those of configured providers with a key, without those of direct surfaces; sorted. */
function usableModels(config: PagurusConfig, env: Readonly<Record<string, string | undefined>>): string[] {
  const configured = config.models?.providers ?? {};
  const refs = new Set<string>();
  for (const provider of new Set([...Object.keys(configured), ...Object.keys(KNOWN_PROVIDERS)])) {
    const ids = [...(configured[provider]?.models ?? []).map(({ id }) => id), ...catalogIds(provider)];
    for (const id of ids) refs.add(`${provider}/${id}`);
  }
  return [...refs].filter((ref) => isUsable(ref, config, env)).toSorted();
}

function isUsable(
  ref: string,
  config: PagurusConfig,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  try {
    return resolveModel(ref, config, env).info.surfaces === undefined;
  } catch {
    return false;
  }
}
