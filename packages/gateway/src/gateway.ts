/**
 * The model gateway: one endpoint on this machine for all harnesses of a host, started by the first route and stopped with the last.
 * Source: the design's "The model gateway".
 */
import type { Clock } from "@pagurus/core/data/clock";
import type { ModelGateway, WireApi, WireRoute, WireRouteRequest } from "@pagurus/contract/harness/wire";
import type { resolveModel } from "@pagurus/core/model/resolve";
import type { Logger } from "@pagurus/core/platform/log";
import type { CaptureLog } from "./capture/capture.ts";
import { dialectOf } from "./dialect/dialects.ts";
import { WireRouteHandler, type ExchangeFacts } from "./request/exchange.ts";
import type { RouteOptions } from "./request/route-facts.ts";
import type { Governor } from "./governor/governor.ts";
import { WireServer } from "./server/gateway-server.ts";
import { TurnGovernor } from "./governor/turn-governor.ts";
import { directAgents, type DirectAgents } from "./upstream/direct-agents.ts";
import { upstreamFor } from "./upstream/for-model.ts";

const ADD_VERSION: ReadonlySet<WireApi> = new Set(["anthropic-messages", "google-generative-ai"]);

type Resolved = ReturnType<typeof resolveModel>;

export interface GatewayOptions {
  logger: Logger;
  /** Throws `credential_missing`, `config_invalid`, `model_unknown`. */
  resolve(ref: string): Resolved;
  /** Stores each request and answer, byte for byte. */
  capture?: CaptureLog | undefined;
  /** Default: the machine's. */
  clock?: Clock | undefined;
}

export interface OpenRoute {
  api: WireApi;
  governor: Governor;
  sessionKey: string;
  runtime: string;
  classify?: RouteOptions["classify"];
  named?: RouteOptions["named"];
  onExchange?: ((facts: ExchangeFacts) => void) | undefined;
}

export interface GovernedRoute extends Omit<WireRoute, "serve"> {
  /** The base URL with the secret in its path. */
  readonly secretUrl: string;
  /** The secret alone. */
  readonly token: string;
}

export class Gateway implements ModelGateway {
  readonly #options: GatewayOptions;
  readonly #server: WireServer;
  /** Connections of all routes to the host's models. */
  readonly #agents: DirectAgents;
  #routes = 0;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#agents = directAgents(options.clock);
    this.#server = new WireServer({ logger: options.logger });
  }

  /** Opens a route whose requests are decided by a turn of the host. Throws `gateway_failed`. */
  async open({ onExchange, ...about }: WireRouteRequest): Promise<WireRoute> {
    const { resolve } = this.#options;
    const { api, sessionKey, runtime, saysAddition } = about;
    const governor = new TurnGovernor({
      sessionKey,
      runtime,
      resolve,
      saysAddition,
      upstreamFor: (model) => upstreamFor(model, api, sessionKey, { agents: this.#agents }),
    });
    const report =
      onExchange &&
      (({ request, kind, answeredBy }: ExchangeFacts): void =>
        onExchange({
          request,
          kind: kind === "main" || kind === "compaction" ? kind : "other",
          ...(answeredBy === "gateway" ? {} : { answeredBy }),
        }));
    const route = await this.openRoute({ ...about, governor, onExchange: report });
    const { baseUrl, headers } = route;
    return { baseUrl, headers, close: () => route.close(), serve: (turn) => governor.serve(turn) };
  }

  /** Opens a route with a governor of the caller's. Throws `gateway_failed`. */
  async openRoute({ api, ...about }: OpenRoute): Promise<GovernedRoute> {
    const { logger, capture, clock } = this.#options;
    this.#routes += 1;
    const id = `wire-${this.#routes}`;
    const dialect = await dialectOf(api);
    const handler = new WireRouteHandler({ ...about, id, dialect, logger, capture, clock });
    const route = await this.#server.route((call) => handler.handle(call));
    logger.debug("gateway route opened", { route: id, runtime: about.runtime, api });
    // In the form of a provider's base URL for its client: Anthropic's and Google's clients add the version themselves.
    const version = ADD_VERSION.has(api) ? "" : "/v1";
    return {
      baseUrl: `${route.baseUrl}${version}`,
      secretUrl: `${route.baseUrl}/t/${route.token}${version}`,
      token: route.token,
      headers: route.headers,
      close: async () => {
        await route.close();
        await handler.settled();
        await capture?.settled();
        logger.debug("gateway route closed", { route: id });
      },
    };
  }

  async close(): Promise<void> {
    await this.#server.close();
    this.#agents.close();
  }
}

export function createModelGateway(options: GatewayOptions): Gateway {
  return new Gateway(options);
}
