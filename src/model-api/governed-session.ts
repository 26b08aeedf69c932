/** A session whose client runs the loop: each of its requests is a model call whose context the engine decides. */
import type { Pagurus } from "../contract/host/host.ts";
import type { WireApi } from "../contract/harness/wire.ts";
import type { Logger } from "../platform/log.ts";
import type { resolveModel } from "../model/resolve.ts";
import type { Dialect, WireRequest } from "../gateway/dialect/wire-dialect.ts";
import { WireRouteHandler } from "../gateway/request/exchange.ts";
import type { WireCall } from "../gateway/server/gateway-call.ts";
import { upstreamFor } from "../gateway/upstream/for-model.ts";
import type { DirectAgents } from "../gateway/upstream/direct-agents.ts";
import type { Upstream } from "../gateway/upstream/upstream.ts";
import { WrapGovernor } from "../gateway/wrap/wrap-governor.ts";
import type { WrapHarness } from "../gateway/wrap/wrap-harness.ts";
import { withModelName } from "./named-upstream.ts";

export interface GovernedOptions {
  pagurus: Pagurus;
  harness: WrapHarness;
  logger: Logger;
  agentId: string;
  cwd: string;
  agents: DirectAgents;
  /** Throws `model_unknown`, `credential_missing`. */
  resolve(ref: string): ReturnType<typeof resolveModel>;
}

/** Name of the one conversation that a session has here. */
const CONVERSATION = "api";

export class GovernedSession {
  readonly api: WireApi;
  readonly sessionKey: string;
  lastUsed = performance.now();
  readonly #options: GovernedOptions;
  readonly #governor: WrapGovernor;
  readonly #handler: WireRouteHandler;
  #answering = 0;
  #requests = 0;
  #newest: Upstream | undefined;

  constructor(sessionKey: string, dialect: Dialect, api: WireApi, options: GovernedOptions) {
    this.api = api;
    this.sessionKey = sessionKey;
    this.#options = options;
    const { pagurus, harness, logger, agentId, cwd } = options;
    this.#governor = new WrapGovernor({
      pagurus,
      harness,
      sessionKey,
      agentId,
      cwd,
      logger,
      modelOf: (request) => request.model,
      upstream: (request) => this.#upstream(request),
      notify: (sentence) => logger.info("model API session noticed", { sessionKey, length: sentence.length }),
    });
    this.#handler = new WireRouteHandler({
      id: `api-${sessionKey}`,
      sessionKey,
      runtime: harness.id,
      dialect,
      governor: this.#governor,
      logger,
      // One session is one conversation, whatever a client says about it.
      classify: (request) => ({ ...request, native: { ...request.native, threadId: CONVERSATION } }),
    });
  }

  get isAnswering(): boolean {
    return this.#answering > 0;
  }

  #upstream(request: WireRequest | undefined): Upstream {
    if (request !== undefined) {
      const { resolve, agents } = this.#options;
      const model = resolve(request.model);
      this.#newest = withModelName(upstreamFor(model, this.api, this.sessionKey, agents), model.info.id);
    }
    if (this.#newest === undefined) throw new TypeError("A model API session has no request yet.");
    return this.#newest;
  }

  nextCall(): number {
    return this.#requests++;
  }

  /** Never throws. */
  async handle(call: WireCall): Promise<void> {
    this.#answering += 1;
    this.lastUsed = performance.now();
    try {
      await this.#handler.handle(call);
    } finally {
      this.#answering -= 1;
      this.lastUsed = performance.now();
    }
  }

  /** Ends its open turn. Never throws. */
  async close(): Promise<void> {
    await this.#handler.settled();
    await this.#governor.close();
  }
}
