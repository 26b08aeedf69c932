/**
 * Handles the requests of one route: reads, classifies and forwards each. A request that is not understood passes unchanged. Source:
 * the design's "The model gateway", rules 1 to 5.
 */
import { isPagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { WireFault, WireRequest } from "../dialect/wire-dialect.ts";
import { mayHaveSealed } from "../dialect/sealed-summary.ts";
import { JsonScanError } from "../json/scan.ts";
import { readMessages } from "../wrap/request-messages.ts";
import { Exchange } from "./one-exchange.ts";
import { Conversations } from "./order.ts";
import { atMost } from "./timeouts.ts";
import { ThinkingBinds } from "../splice/bound-thinking.ts";
import { Overflows, type RouteOptions } from "./route-facts.ts";
import type { WireCall } from "../server/gateway-call.ts";

export type { ExchangeFacts } from "./route-facts.ts";

/** How long a closing route waits for pending records, ms. */
const SETTLE_MS = 5_000;

/** Handles the requests of one route, in order of arrival. */
export class WireRouteHandler {
  readonly #options: RouteOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #conversations: Conversations;
  /** Summaries of the engine that this route has returned. */
  readonly #summaries = new Set<string>();
  #requests = 0;
  #hasWarnedEncoded = false;

  constructor(options: Omit<RouteOptions, "overflows" | "thinking">) {
    this.#options = { ...options, overflows: new Overflows(), thinking: new ThinkingBinds() };
    this.#conversations = new Conversations(options.clock);
  }

  /** Never throws: a failure becomes the call's reply. */
  async handle(call: WireCall): Promise<void> {
    const handled = this.#handle(call);
    this.#running.add(handled);
    await handled.finally(() => this.#running.delete(handled));
  }

  /** Resolves when all answers are recorded, or at the deadline. */
  async settled(): Promise<void> {
    await atMost(Promise.all(this.#running), SETTLE_MS, undefined, this.#options.clock);
  }

  async #handle(call: WireCall): Promise<void> {
    const request = this.#requests;
    this.#requests += 1;
    const { dialect, logger, id } = this.#options;
    const began = performance.now();
    const exchange = new Exchange(this.#options, call, request, this.#summaries);
    try {
      const rest = await this.#begin(exchange, call);
      await rest();
    } catch (error) {
      const { code, message } = toPagurusError(error);
      exchange.fail(message, call.signal.aborted ? undefined : dialect.fault(faultOf(error), message));
      logger.warn("gateway request failed", { route: id, request, code });
    } finally {
      exchange.end();
      logger.debug("gateway request", {
        route: id,
        request,
        ...exchange.facts(),
        durationMs: Math.round(performance.now() - began),
      });
      this.#options.onExchange?.({ request, ...exchange.facts() });
    }
  }

  /**
   * Decides on a request, and returns the rest of the work. For a request that passes, nothing of it is held while the answer
   * streams.
   */
  async #begin(exchange: Exchange, call: WireCall): Promise<() => Promise<void>> {
    const came = await call.body();
    const isGoverned = this.#options.governor.passes !== true;
    const body = (isGoverned ? this.#options.named?.resolved(came) : undefined) ?? came;
    if (!isGoverned && !mayHaveSealed(body)) return await this.#passedUnread(exchange, call, body);
    const read = this.#read(call, body);
    if (isGoverned && read) await readMessages(read);
    if (isGoverned && read?.kind === "main")
      return () => this.#conversations.inTurn(read, call.signal, (stages) => exchange.main(read, stages));
    if (isGoverned && read?.kind === "compaction")
      return () =>
        this.#conversations.inTurn(read, call.signal, (stages) => exchange.compaction(read, stages));
    if (isGoverned && read && exchange.repeats(read, body)) return () => Promise.resolve();
    return this.#passed(exchange, read, body);
  }

  /** A separate method, so that relaying the answer does not hold the request. */
  async #passed(
    exchange: Exchange,
    read: WireRequest | undefined,
    body: Buffer,
  ): Promise<() => Promise<void>> {
    const answer = await exchange.pass(read, body);
    return () => exchange.relay(answer);
  }

  /** The same for a request that is read after it was sent, for the record. */
  async #passedUnread(exchange: Exchange, call: WireCall, body: Buffer): Promise<() => Promise<void>> {
    const answer = await exchange.passUnread(body, this.#reader(call, body));
    return () => exchange.relay(answer);
  }

  /** A method of its own, for the same reason. */
  #reader(call: WireCall, body: Buffer): () => WireRequest | undefined {
    return () => this.#read(call, body);
  }

  /** Undefined for a request that is not of the dialect; it passes. */
  #read(call: WireCall, body: Buffer): WireRequest | undefined {
    if (call.method !== "POST") return undefined;
    if (call.headers["content-encoding"] !== undefined) {
      if (!this.#hasWarnedEncoded)
        this.#options.logger.warn("gateway passes compressed requests unread", { route: this.#options.id });
      this.#hasWarnedEncoded = true;
      return undefined;
    }
    try {
      const read = this.#options.dialect.read(call.path, call.headers, body);
      return this.#options.classify?.(read, call) ?? read;
    } catch (error) {
      if (!(error instanceof JsonScanError))
        this.#options.logger.warn("gateway could not read a request", {
          route: this.#options.id,
          bytes: body.length,
          reason: toPagurusError(error).code,
        });
      return undefined;
    }
  }
}

function faultOf(error: unknown): WireFault {
  if (error instanceof Error && "fault" in error && typeof error.fault === "string")
    return error.fault as WireFault;
  const code = isPagurusError(error) ? error.code : undefined;
  // Not retryable, so that the user reads the reason.
  if (code === "session_locked") return "bad_request";
  // Deleted while the request came.
  if (code === "session_not_found") return "not_found";
  if (code === "context_overflow" || code === "live_turn_too_large") return "context_overflow";
  if (code === "cost_limit") return "cost_limit";
  if (code === "model_unavailable" || code === "model_stream_cut") return "upstream_failed";
  if (code === "credential_missing" || code === "model_auth") return "unauthorized";
  return "internal";
}
