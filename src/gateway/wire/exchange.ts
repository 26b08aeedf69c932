/**
 * One request's way through the gateway: read, classified, given the engine's context, sent on, and its answer passed back while
 * it is followed. Whatever is not understood passes as it is. Source: the design's "The model gateway", rules 1 to 5.
 */
import { PagurusError, toPagurusError } from "../../contract/errors.ts";
import type { Usage } from "../../contract/message.ts";
import type { Logger } from "../../platform/log.ts";
import { estimateTokens } from "../../tokens/estimate.ts";
import type {
  AnswerReader,
  Dialect,
  WireAnswer,
  WireFault,
  WireReply,
  WireRequest,
} from "./dialect/dialect.ts";
import type { CapturedRequest, CaptureLog } from "./capture/capture.ts";
import { readerOf } from "./encoded.ts";
import type { Governor, GovernorCall } from "./governor.ts";
import { JsonScanError } from "./json/scan.ts";
import { passing, splice, type Spliced } from "./splice/splice.ts";
import type { WireCall } from "./server/call.ts";
import { readWhole, refusalOf, type Refused } from "./refusal.ts";
import type { Upstream, UpstreamAnswer } from "./upstream/upstream.ts";

export interface RouteFacts {
  /** Short name of the route, for log and capture. */
  id: string;
  sessionKey: string;
  runtime: string;
}

export interface RouteOptions extends RouteFacts {
  dialect: Dialect;
  governor: Governor;
  logger: Logger;
  capture?: CaptureLog | undefined;
  /** Told when a request has ended. */
  onExchange?: ((facts: ExchangeFacts) => void) | undefined;
}

export interface ExchangeFacts {
  request: number;
  kind: WireRequest["kind"];
  answeredBy: "engine" | "upstream" | "gateway";
  isReplaced: boolean;
}

/** A refusal is read up to this before it is passed on. */
const REFUSAL = { bytes: 1024 * 1024, ms: 10_000 };
/** How long a request waits for the end of the one before it, and a failure for its record, ms. */
const BEFORE_MS = 30_000;
/** How long the governor's word is waited for when the harness has left, ms. */
const LEFT_MS = 1_000;
/** How long a route that closes waits for what is still being recorded, ms. */
const SETTLE_MS = 5_000;

/** The requests of one route, in the order in which they came. */
export class WireRouteHandler {
  readonly #options: RouteOptions;
  readonly #running = new Set<Promise<void>>();
  #requests = 0;
  #hasToldEncoded = false;
  /** Ends when the newest main request has. */
  #before: Promise<void> = Promise.resolve();

  constructor(options: RouteOptions) {
    this.#options = options;
  }

  /** Never throws: what fails is the call's reply. */
  async handle(call: WireCall): Promise<void> {
    const handled = this.#handle(call);
    this.#running.add(handled);
    await handled.finally(() => this.#running.delete(handled));
  }

  /** Resolves when what was answered is recorded, or takes too long. */
  async settled(): Promise<void> {
    await atMost(Promise.all(this.#running), SETTLE_MS);
  }

  async #handle(call: WireCall): Promise<void> {
    const request = this.#requests;
    this.#requests += 1;
    const { dialect, logger, id } = this.#options;
    const began = performance.now();
    const exchange = new Exchange(this.#options, call, request);
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

  /** What is left to do once the request is read. Of one that passes it holds nothing while the answer streams. */
  async #begin(exchange: Exchange, call: WireCall): Promise<() => Promise<void>> {
    const body = await call.body();
    const read = this.#read(call, body);
    const isGoverned = this.#options.governor.passes !== true;
    if (isGoverned && read?.kind === "main")
      return () => this.#inTurn(call.signal, () => exchange.main(read));
    if (isGoverned && read?.kind === "compaction")
      return () => this.#inTurn(call.signal, () => exchange.compaction(read));
    const answer = await exchange.pass(read, body);
    return () => exchange.relay(answer);
  }

  /** Undefined for what is no request of the dialect's: it passes. */
  #read(call: WireCall, body: Buffer): WireRequest | undefined {
    if (call.method !== "POST") return undefined;
    if (call.headers["content-encoding"] !== undefined) {
      if (!this.#hasToldEncoded)
        this.#options.logger.warn("gateway passes compressed requests unread", { route: this.#options.id });
      this.#hasToldEncoded = true;
      return undefined;
    }
    try {
      return this.#options.dialect.read(call.path, call.headers, body);
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

  /** A conversation's requests follow each other: what was answered is recorded before the next one is decided on. */
  async #inTurn(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const before = this.#before;
    const done = Promise.withResolvers<void>();
    this.#before = done.promise;
    try {
      await atMost(before, BEFORE_MS, signal);
      await work();
    } finally {
      done.resolve();
    }
  }
}

/** Resolves with the work, at the deadline or when the signal fires, whichever comes first. */
async function atMost(work: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms);
  signal?.addEventListener("abort", () => over.resolve(), { once: true });
  try {
    await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The work's outcome; where it does not come it is given up a while after the harness has left. Throws `turn_aborted`. */
async function unlessLeft<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const left = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    const error = new PagurusError("turn_aborted", "The harness left before its request was decided on.");
    timer = setTimeout(() => left.reject(error), LEFT_MS);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  // What fails when nobody waits for it any more is nobody's.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, left.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

class Exchange {
  readonly #options: RouteOptions;
  readonly #call: WireCall;
  readonly #own: GovernorCall;
  #kind: WireRequest["kind"] = "unknown";
  #answeredBy: ExchangeFacts["answeredBy"] = "gateway";
  #isReplaced = false;
  #captured: CapturedRequest | undefined;
  #outcome = { cut: false, left: false };
  #error: string | undefined;

  constructor(options: RouteOptions, call: WireCall, request: number) {
    this.#options = options;
    this.#call = call;
    this.#own = { request, signal: call.signal };
  }

  facts(): Omit<ExchangeFacts, "request"> {
    return { kind: this.#kind, answeredBy: this.#answeredBy, isReplaced: this.#isReplaced };
  }

  end(): void {
    const error = this.#error === undefined ? {} : { error: this.#error };
    this.#captured?.end({ ...this.#outcome, ...error, answeredBy: this.#answeredBy });
  }

  /** Answers with a fault where nothing has been answered; undefined: nobody listens any more. */
  fail(message: string, reply: WireReply | undefined): void {
    this.#error = message;
    if (!reply) this.#outcome.left = true;
    else if (this.#answeredBy === "gateway") this.#reply(reply, "gateway");
  }

  async main(read: WireRequest): Promise<void> {
    this.#begin(read, read.body);
    this.#checkListens();
    const { governor } = this.#options;
    const governed = await unlessLeft(governor.main(read, this.#own), this.#call.signal);
    const spliced = governed ? this.#splice(read, governed) : undefined;
    let answer = await this.#ask(read, spliced);
    if (answer.status >= 400 && spliced) {
      const refused = await readWhole(answer, REFUSAL);
      const overflow = await this.#overflowOf(read, refused);
      if (overflow === undefined) return this.#answered(read, refused.answer);
      // The engine makes it smaller, and the harness never learns of it.
      const again = await unlessLeft(governor.main(read, { ...this.#own, overflow }), this.#call.signal);
      answer = await this.#ask(read, again ? this.#splice(read, again) : undefined);
    }
    await this.#answered(read, answer);
  }

  /** The provider's words where it refused the context as too long: then its answer ends here. */
  async #overflowOf(read: WireRequest, refused: Refused): Promise<{ message: string } | undefined> {
    const answer = refusalOf(this.#options.dialect, refused);
    if (answer.error?.overflow !== true) return undefined;
    refused.answer.stream.destroy();
    await this.#record(read, answer, false);
    return { message: answer.error.message };
  }

  /** Nothing is decided on and sent for a harness that has left. */
  #checkListens(): void {
    if (this.#call.signal.aborted)
      throw new PagurusError("turn_aborted", "The harness left before its request was sent on.");
  }

  /** What a record comes to is no part of the answer: the harness has it, or is told what failed. */
  async #record(read: WireRequest, answer: WireAnswer, isAborted: boolean): Promise<void> {
    const { governor, logger, id } = this.#options;
    try {
      await governor.answered(read, answer, { ...this.#own, isAborted });
    } catch (error) {
      const { code } = toPagurusError(error);
      logger.warn("gateway could not record an answer", { route: id, request: this.#own.request, code });
    }
  }

  /** Whoever was told that a request goes out is told of its end, also where it came to nothing. */
  async #ask(read: WireRequest, spliced: Spliced | undefined): Promise<UpstreamAnswer> {
    const { governor } = this.#options;
    this.#checkListens();
    const upstream = governor.upstream(read);
    governor.sent(read, this.#own);
    try {
      return await this.#send(upstream, read, spliced);
    } catch (error) {
      const { message } = toPagurusError(error);
      const isAborted = this.#call.signal.aborted;
      const nothing: WireAnswer = {
        message: { role: "assistant", content: [] },
        isComplete: false,
        error: { message, overflow: false },
      };
      await atMost(this.#record(read, nothing, isAborted), BEFORE_MS);
      throw error;
    }
  }

  async compaction(read: WireRequest): Promise<void> {
    this.#begin(read, read.body);
    const { governor, dialect } = this.#options;
    const answer = await unlessLeft(governor.compaction(read, this.#own), this.#call.signal);
    if (!answer) return this.#compactedUpstream(read);
    this.#reply(dialect.answer(read, answer.summary, usageOf(read, answer.summary)), "engine");
  }

  async #compactedUpstream(read: WireRequest): Promise<void> {
    const { governor, dialect } = this.#options;
    const answer = await this.#send(governor.upstream(read), read, undefined);
    const reader = readerOf(dialect, answer.status, answer.headers);
    await this.relay(answer, reader);
    const told = reader.end();
    if (told.isComplete && told.error === undefined) await governor.compacted?.(read, told);
  }

  /** Sends it on as it is. */
  pass(read: WireRequest | undefined, body: Buffer): Promise<UpstreamAnswer> {
    this.#begin(read, body);
    return this.#send(this.#options.governor.upstream(read), read, undefined, body);
  }

  #begin(read: WireRequest | undefined, body: Buffer): void {
    this.#kind = read?.kind ?? "unknown";
    const { capture, governor, sessionKey, runtime, id, dialect } = this.#options;
    const { method, path, query, rawHeaders } = this.#call;
    this.#captured = capture?.begin({
      sessionKey,
      ...governor.owner?.(read),
      runtime,
      route: id,
      request: this.#own.request,
      kind: this.#kind,
      api: dialect.api,
      model: read?.model ?? "",
      method,
      path: `${path}${query}`,
      rawHeaders,
      body,
    });
  }

  /** A request that cannot be spliced passes as it is: better more than the engine wanted than no answer. */
  #splice(read: WireRequest, governed: Parameters<typeof splice>[1]): Spliced | undefined {
    const { dialect, logger, id } = this.#options;
    try {
      return splice(read, governed, dialect);
    } catch (error) {
      logger.error("gateway could not splice a request", {
        route: id,
        request: this.#own.request,
        reason: toPagurusError(error).code,
      });
      return undefined;
    }
  }

  #send(
    upstream: Upstream,
    read: WireRequest | undefined,
    spliced: Spliced | undefined,
    whole?: Buffer,
  ): Promise<UpstreamAnswer> {
    const body = spliced?.body ?? (read ? passing(read) : [whole ?? Buffer.alloc(0)]);
    const { method, path, query, rawHeaders, signal } = this.#call;
    this.#isReplaced = spliced?.isReplaced ?? false;
    this.#captured?.sent(upstream.label, body, {
      replaced: this.#isReplaced,
      ...(upstream.secrets ? { secrets: upstream.secrets } : {}),
      ...(spliced
        ? {
            keptItems: spliced.keptItems,
            encodedMessages: spliced.encodedMessages,
            droppedItems: spliced.droppedItems,
          }
        : {}),
    });
    const { dialect } = this.#options;
    return upstream.send({
      method,
      path: `${path}${query}`,
      rawHeaders,
      body,
      read,
      dialect,
      signal,
    });
  }

  async #answered(read: WireRequest, answer: UpstreamAnswer): Promise<void> {
    const reader = readerOf(this.#options.dialect, answer.status, answer.headers);
    try {
      await this.relay(answer, reader);
    } finally {
      const isAborted = this.#outcome.left || this.#call.signal.aborted;
      await this.#record(read, reader.end(), isAborted);
    }
  }

  async relay(answer: UpstreamAnswer, reader?: AnswerReader): Promise<void> {
    this.#answeredBy = "upstream";
    this.#captured?.answered({ status: answer.status, rawHeaders: answer.rawHeaders });
    const captured = this.#captured;
    const isFollowed = captured !== undefined || reader !== undefined;
    const follow = (chunk: Buffer): void => {
      captured?.chunk(chunk);
      reader?.take(chunk);
    };
    this.#outcome = await this.#call.pass(answer, isFollowed ? follow : undefined);
  }

  #reply(reply: WireReply, by: ExchangeFacts["answeredBy"]): void {
    this.#answeredBy = by;
    const rawHeaders = Object.entries(reply.headers).flat();
    this.#captured?.answered({ status: reply.status, rawHeaders });
    this.#captured?.chunk(reply.body);
    this.#call.reply(reply);
  }
}

/** As if a model had read what was to be compacted. */
function usageOf(read: WireRequest, summary: string): Usage {
  const input = Math.ceil((read.list.end - read.list.start) / 4);
  const output = estimateTokens(summary);
  return { input, output, totalTokens: input + output };
}

function faultOf(error: unknown): WireFault {
  if (error instanceof Error && "fault" in error && typeof error.fault === "string")
    return error.fault as WireFault;
  const code = error instanceof PagurusError ? error.code : undefined;
  // Asked again it would be refused again, and the user has to read why.
  if (code === "session_locked") return "bad_request";
  if (code === "context_overflow" || code === "live_turn_too_large") return "context_overflow";
  if (code === "model_unavailable" || code === "model_stream_cut") return "upstream_failed";
  if (code === "credential_missing" || code === "model_auth") return "unauthorized";
  return "internal";
}
