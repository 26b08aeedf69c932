/**
 * The direct surfaces at `/v1`: vectors, images, speech and transcripts of a provider with OpenAI's API and a key of the host. A request
 * passes on with all its fields but for the model's name and the credentials, and its answer as it comes. Nothing of it enters a session; a
 * session that the client names pays for it.
 */
import { isPagurusError, PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { DirectSurface } from "@pagurus/contract/model";
import { dialectOf } from "@pagurus/gateway/dialect/dialects";
import { WireCallError } from "@pagurus/gateway/server/faults";
import type { WireCall } from "@pagurus/gateway/server/gateway-call";
import { headersWithout } from "@pagurus/gateway/server/headers";
import type { DirectAgents } from "@pagurus/gateway/upstream/direct";
import { upstreamFor } from "@pagurus/gateway/upstream/for-model";
import type { UpstreamAnswer } from "@pagurus/gateway/upstream/upstream";
import type { ResolvedModel } from "@pagurus/core/model/provider-types";
import { AnswerUnits } from "@pagurus/core/model/surfaces/answer-units";
import {
  answeredCost,
  describeAsk,
  estimatedCost,
  type SurfaceUnits,
} from "@pagurus/core/model/surfaces/surface-cost";
import { surfaceModel, surfaceRefs } from "@pagurus/core/model/surfaces/surface-models";
import { withDeadline } from "@pagurus/core/platform/deadline";
import type { JsonThread } from "@pagurus/core/platform/json/json-thread";
import type { Logger } from "@pagurus/core/platform/log";
import type { Allowance, CostGate } from "@pagurus/host/turn/cost/cost-limits";
import { SurfaceCosts, type SurfaceCostsOptions } from "./surface-costs.ts";
import { SURFACE_ROUTES, type SurfaceRoute } from "./surface-routes.ts";
import { formBody, jsonBody, type SurfaceBody } from "./surface-body.ts";

/** Longest wait for the beginning of an answer, ms: an image of the best quality takes minutes. */
const ANSWER_MS = 10 * 60_000;
const ENCODING: ReadonlySet<string> = new Set(["accept-encoding"]);
const REALTIME =
  "There is no /v1/realtime here: a realtime session of a provider is not passed on; use /v1/audio/transcriptions, a model, and /v1/audio/speech.";

export interface SurfaceApiOptions extends SurfaceCostsOptions {
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  json: JsonThread;
  /** Kept connections to the providers. */
  agents: DirectAgents;
  /** Called when a request is passed on, before its answer. */
  onSent?(sent: SentSurface): void;
}

/** A request that is passed on, for the audit log. */
export interface SentSurface {
  tokenId: string;
  /** For example `POST /v1/embeddings`. */
  action: string;
  agentId: string;
  sessionKey?: string | undefined;
}

export interface SurfaceCaller {
  tokenId: string;
  allowsAgent(agentId: string): boolean;
  /** Session that the client names, which it may use. */
  sessionKey?: string | undefined;
}

export class SurfaceApi {
  readonly #options: SurfaceApiOptions;
  #costs: SurfaceCosts | undefined;
  /** Refs of models without prices that were reported. */
  readonly #unpriced = new Set<string>();

  constructor(options: SurfaceApiOptions) {
    this.#options = options;
  }

  /** Refs that a client may name at these paths. */
  get names(): string[] {
    return surfaceRefs(this.#options.loaded.config, this.#options.env);
  }

  handles(path: string): boolean {
    return Object.hasOwn(SURFACE_ROUTES, path) || /^\/realtime(?:\/|$)/.test(path);
  }

  /** Throws `WireCallError`, all before anything is sent. */
  async serve(call: WireCall, caller: SurfaceCaller): Promise<void> {
    const { path, method } = call;
    const route = SURFACE_ROUTES[path];
    if (!route) throw new WireCallError("not_found", REALTIME);
    if (method !== "POST")
      throw new WireCallError("not_found", `There is no ${method} /v1${path}; use POST.`);
    const { agentId, onSent } = this.#options;
    if (!caller.allowsAgent(agentId))
      throw new WireCallError(
        "not_found",
        `The token may not use the agent "${agentId}", which /v1${path} is counted for.`,
      );
    const body = await this.#body(call, route);
    const model = this.#model(body.model, route.surface);
    const gate = (this.#costs ??= new SurfaceCosts(this.#options)).gate(model, caller.sessionKey);
    const allowed = this.#reserved(gate, model, body);
    try {
      const action = `POST /v1${path}`;
      onSent?.({ tokenId: caller.tokenId, action, agentId, sessionKey: caller.sessionKey });
      await this.#passed(call, { model, body, gate });
    } finally {
      allowed.done();
    }
  }

  async #body(call: WireCall, { surface, bodies }: SurfaceRoute): Promise<SurfaceBody> {
    const type = call.headers["content-type"];
    const isForm = typeof type === "string" && /^multipart\//i.test(type);
    if (!bodies.includes(isForm ? "form" : "json"))
      throw new WireCallError(
        "bad_request",
        `Send the request as ${bodies[0] === "form" ? "a form (multipart/form-data)" : "JSON"}.`,
      );
    if (call.headers["content-encoding"] !== undefined)
      throw new WireCallError("bad_request", "Compressed bodies are not read; send the body as it is.");
    const bytes = await call.body();
    return isForm ? formBody(bytes, surface, type) : jsonBody(bytes, surface, this.#options.json);
  }

  #model(ref: string, surface: DirectSurface): ResolvedModel {
    const { loaded, env } = this.#options;
    try {
      return surfaceModel(ref, surface, { config: loaded.config, env });
    } catch (error) {
      if (!isPagurusError(error)) throw error;
      throw new WireCallError(error.code === "model_unknown" ? "not_found" : "bad_request", error.message);
    }
  }

  #reserved(gate: CostGate, { info }: ResolvedModel, { ask }: SurfaceBody): Allowance {
    try {
      return gate.reserve({
        cost: estimatedCost(info, ask),
        label: describeAsk(info, ask),
        ref: info.ref,
      });
    } catch (error) {
      const { code, message } = toPagurusError(error);
      if (code !== "cost_limit") throw error;
      throw new WireCallError("cost_limit", message);
    }
  }

  async #passed(call: WireCall, { model, body, gate }: Sending): Promise<void> {
    const answer = await this.#answer(call, { model, body, gate });
    const units = new AnswerUnits(String(answer?.headers["content-type"] ?? ""));
    // A client that left before the answer has asked for it all the same.
    if (answer && !isOk(answer)) return void (await call.pass(answer));
    if (answer) await call.pass(answer, (chunk) => units.take(chunk));
    this.#pay({ model, body, gate }, units.units);
  }

  /** Without `units` the request costs its estimate. */
  #pay({ model: { info }, body: { ask }, gate }: Sending, units: SurfaceUnits = {}): void {
    const { logger } = this.#options;
    const model = info.ref;
    const cost = answeredCost(info, ask, units);
    // Each such model once: its requests may be many.
    if (cost === undefined && !this.#unpriced.has(model)) {
      this.#unpriced.add(model);
      logger.warn("cost of a direct request not known: the model has no cost or unitCost", { model });
    }
    const unwritten = cost === undefined ? undefined : gate.paid(cost, ask.surface);
    if (unwritten !== undefined) logger.warn("cost of a direct request not written", { model });
  }

  /** Undefined if the client left first. Throws `WireCallError` for a provider that does not answer. */
  async #answer(call: WireCall, sending: Sending): Promise<UpstreamAnswer | undefined> {
    const { model, body } = sending;
    const api = model.info.api as WireApi;
    // Each attempt may be paid for: the provider can fail after it has made the image.
    const upstream = upstreamFor(model, api, "", { agents: this.#options.agents, attempts: 1 });
    const [dialect, parts] = await Promise.all([dialectOf(api), body.withModel(model.info.id)]);
    // The counts of an answer are read as it passes.
    const rawHeaders = [...headersWithout(call.rawHeaders, ENCODING), "accept-encoding", "identity"];
    // The connection stays with the call's own signal, as the answer streams after the deadline of its head.
    const left = new AbortController();
    const signal = AbortSignal.any([call.signal, left.signal]);
    try {
      return await withDeadline(
        () =>
          upstream.send({
            method: "POST",
            path: `${call.path}${call.query}`,
            rawHeaders,
            body: parts,
            read: undefined,
            dialect,
            signal,
          }),
        { ms: ANSWER_MS, label: `The answer of ${model.info.ref}`, signal: call.signal },
      );
    } catch (error) {
      left.abort(error);
      if (call.signal.aborted) return undefined;
      // The provider does the work also if its answer comes too late.
      if (isPagurusError(error) && error.code === "deadline_exceeded") this.#pay(sending);
      if (error instanceof PagurusError && error.code !== "internal")
        throw new WireCallError("upstream_failed", error.message);
      throw error;
    }
  }
}

interface Sending {
  model: ResolvedModel;
  body: SurfaceBody;
  gate: CostGate;
}

function isOk({ status }: UpstreamAnswer): boolean {
  return status >= 200 && status < 300;
}
