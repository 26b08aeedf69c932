/** One session that a client's model calls continue: its governor, and a handler for each protocol. */
import type { Pagurus } from "@pagurus/contract/host/host";
import type { WireApi } from "@pagurus/contract/harness/wire";
import type { AgentMessage } from "@pagurus/contract/message";
import type { ResolvedModel } from "@pagurus/core/model/provider-types";
import type { Logger } from "@pagurus/core/platform/log";
import { dialectOf } from "@pagurus/gateway/dialect/dialects";
import { WireRouteHandler } from "@pagurus/gateway/request/exchange";
import type { WireRequest } from "@pagurus/gateway/dialect/wire-dialect";
import type { WireCall } from "@pagurus/gateway/server/gateway-call";
import { leavesElement } from "@pagurus/gateway/dialect/responses/responses-answer";
import type { DirectAgents } from "@pagurus/gateway/upstream/direct";
import { upstreamFor } from "@pagurus/gateway/upstream/for-model";
import { translatingUpstream } from "@pagurus/gateway/upstream/translate/translate-upstream";
import type { Upstream } from "@pagurus/gateway/upstream/upstream";
import type { WrapHarness } from "@pagurus/gateway/wrap/wrap-harness";
import { ClientGovernor } from "./answer-tool.ts";

export interface LiveSessionOptions {
  pagurus: Pick<Pagurus, "run" | "sessions" | "renew" | "native">;
  harness: WrapHarness;
  sessionKey: string;
  agentId: string;
  cwd: string;
  logger: Logger;
  /** Connections to the models, shared by all sessions. */
  agents: DirectAgents;
  /** Called with each complete answer that the client has, before the session's next request is decided on. */
  onAnswer(message: AgentMessage): void;
}

export class LiveSession {
  readonly sessionKey: string;
  readonly #options: LiveSessionOptions;
  readonly #governor: ClientGovernor;
  readonly #handlers = new Map<WireApi, Promise<WireRouteHandler>>();
  readonly #running = new Set<Promise<void>>();
  #model: ResolvedModel | undefined;
  #upstream: Upstream | undefined;
  /** Answers compactions that the engine does not: few providers can, and only they could read what theirs leaves. */
  #summarizer: Upstream | undefined;
  /** Digests of the conversations that calls send; what a compaction leaves with the client names its one. */
  readonly #prefixes = new WeakMap<object, string>();

  constructor(options: LiveSessionOptions) {
    const { sessionKey, logger } = options;
    this.sessionKey = sessionKey;
    this.#options = options;
    this.#governor = new ClientGovernor({
      ...options,
      modelOf: () => this.#model?.info.ref ?? "",
      upstream: (request) =>
        (request && leavesElement(request) ? this.#summarizer : this.#upstream) as Upstream,
      notify: () => logger.warn("model call of a client degraded", { sessionKey }),
      // An answer that its client did not get is not part of the client's history: it will ask again.
      onAnswer: (_, message, hasLeft) => {
        if (!hasLeft) options.onAnswer(message);
      },
    });
  }

  /** Whether a request is being answered. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Resolves when the requests that run now are answered and recorded. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Answers a call by a model. `prefix`: digest of the whole conversation that it sends. Never throws. */
  async serve(
    call: WireCall,
    { api, model, prefix }: { api: WireApi; model: ResolvedModel; prefix: string | undefined },
  ): Promise<void> {
    this.#model = model;
    if (prefix !== undefined) this.#prefixes.set(call, prefix);
    this.#upstream = upstreamFor(model, api, this.sessionKey, { agents: this.#options.agents });
    this.#summarizer = translatingUpstream({ model, sessionKey: this.sessionKey });
    const served = this.#handler(api).then((handler) => handler.handle(call));
    this.#running.add(served);
    await served.finally(() => this.#running.delete(served));
  }

  #handler(api: WireApi): Promise<WireRouteHandler> {
    let handler = this.#handlers.get(api);
    if (!handler) {
      handler = this.#open(api);
      this.#handlers.set(api, handler);
    }
    return handler;
  }

  async #open(api: WireApi): Promise<WireRouteHandler> {
    const { sessionKey, logger, harness } = this.#options;
    return new WireRouteHandler({
      id: `api-${sessionKey}`,
      sessionKey,
      runtime: harness.id,
      dialect: await dialectOf(api),
      governor: this.#governor,
      logger,
      // The conversation is the session, however the protocol or a program names it.
      classify: (request, call) => ({
        ...request,
        kind: request.kind === "side" || request.kind === "subagent" ? "main" : request.kind,
        native: { threadId: sessionKey, ...this.#contentId(request, call) },
      }),
    });
  }

  #contentId({ kind }: WireRequest, call: object): { contentId?: string } {
    const contentId = kind === "compaction" ? this.#prefixes.get(call) : undefined;
    return contentId === undefined ? {} : { contentId };
  }

  /** Ends its turn. Never throws. */
  async close(): Promise<void> {
    await this.#governor.close();
  }
}
