/**
 * Handles one request: reads it, splices in the engine's context, sends it, and relays the answer while reading it. Source: the
 * design's "The model gateway", rules 1 to 5.
 */
import { setImmediate as endOfStep } from "node:timers/promises";
import { PagurusError, toPagurusError } from "@pagurus/contract/errors";
import type { Usage } from "@pagurus/contract/message";
import { isRefusedNearWindow } from "@pagurus/core/model/overflow-evidence";
import { estimateTokens } from "@pagurus/core/tokens/estimate";
import type { CapturedRequest } from "../capture/capture.ts";
import { AnswerThinking } from "./answer-thinking.ts";
import { WireCacheQuestion, withoutId } from "./cache-question.ts";
import { spliceCompaction, withoutAsking } from "./compacting.ts";
import type { AnswerReader, WireAnswer, WireReply, WireRequest } from "../dialect/wire-dialect.ts";
import { readerOf } from "./encoded.ts";
import type { Governed, GovernorCall } from "../governor/governor.ts";
import type { Stages } from "./order.ts";
import { atMost, unlessLeft } from "./timeouts.ts";
import { waited } from "./late-refusal.ts";
import { refusalIn } from "./refusal.ts";
import type { ExchangeFacts, RouteOptions } from "./route-facts.ts";
import type { WireCall } from "../server/gateway-call.ts";
import { passing, splice, type Spliced } from "../splice/splice-request.ts";
import type { Upstream, UpstreamAnswer, UpstreamRequest } from "../upstream/upstream.ts";

/** How long a failure reply waits for its record, ms. */
const RECORD_MS = 30_000;

/** How a request with the engine's context is handled. */
interface Way {
  /** Undefined: the request is sent unchanged. */
  spliced(overflow?: { message: string }): Promise<Spliced | undefined>;
  ask(spliced: Spliced | undefined): Promise<UpstreamAnswer>;
  /** Called when the provider rejected the context, before the retry. */
  refused?(answer: WireAnswer): Promise<void>;
  answered(answer: UpstreamAnswer): Promise<void>;
}

export class Exchange {
  readonly #options: RouteOptions;
  readonly #call: WireCall;
  readonly #own: GovernorCall;
  readonly #summaries: Set<string>;
  readonly #thinking: AnswerThinking;
  #kind: WireRequest["kind"] = "unknown";
  /** Reads a request that was sent unread. */
  #unread: (() => WireRequest | undefined) | undefined;
  #answeredBy: ExchangeFacts["answeredBy"] = "gateway";
  #isReplaced = false;
  #captured: CapturedRequest | undefined;
  /** Set for a request that asks for the provider's diagnosis of cache misses. */
  #question: WireCacheQuestion | undefined;
  #outcome = { cut: false, left: false };
  #error: string | undefined;
  #lost: readonly string[] | undefined;

  /** `summaries`: those of the engine that the route has returned; one of this exchange is added. */
  constructor(options: RouteOptions, call: WireCall, request: number, summaries: Set<string>) {
    this.#options = options;
    this.#summaries = summaries;
    this.#call = call;
    this.#own = { request, signal: call.signal };
    this.#thinking = new AnswerThinking(options.thinking);
  }

  facts(): Omit<ExchangeFacts, "request"> {
    this.#readLate();
    return { kind: this.#kind, answeredBy: this.#answeredBy, isReplaced: this.#isReplaced };
  }

  end(): void {
    const error = this.#error === undefined ? {} : { error: this.#error };
    const lost = this.#lost === undefined ? {} : { degraded: this.#lost };
    this.#captured?.end({ ...this.#outcome, ...error, ...lost, answeredBy: this.#answeredBy });
  }

  /** Replies with a fault if no answer has begun; `reply` is undefined after the harness has disconnected. */
  fail(message: string, reply: WireReply | undefined): void {
    this.#error = message;
    if (!reply) this.#outcome.left = true;
    else if (this.#answeredBy === "gateway") this.#reply(reply, "gateway");
  }

  async main(read: WireRequest, stages: Stages): Promise<void> {
    this.#begin(read, read.body);
    await this.#turn(read, stages);
  }

  async #turn(read: WireRequest, stages: Stages): Promise<void> {
    this.#checkConnected();
    const { governor, dialect, overflows } = this.#options;
    // The request before failed at an overflow after output that could not be taken back.
    const before = overflows.take(read);
    await this.#go(read, {
      spliced: async (overflow) => {
        let governed = await this.#decided(read, overflow);
        if (before && !overflow && governed) governed = await this.#decided(read, before);
        const addition = governed?.context.systemPromptAddition;
        const spliced = this.#splice(() =>
          this.#thinking.sendable(read, governed && splice(read, governed, dialect), addition),
        );
        if (spliced?.isReplaced === true) this.#asks(read, governed?.context.previousResponseId);
        return spliced;
      },
      ask: (spliced) => this.#ask(governor.upstream(read), read, spliced),
      refused: (answer) => this.#record(read, answer, false),
      answered: (answer) => this.#answered(read, answer, stages),
    });
  }

  #asks(read: WireRequest, previousId: string | undefined): void {
    const { dialect, governor } = this.#options;
    const { headers } = this.#call;
    this.#question = WireCacheQuestion.of(read, previousId, {
      dialect,
      upstream: governor.upstream(read),
      headers,
    });
  }

  #decided(read: WireRequest, overflow: { message: string } | undefined): Promise<Governed | undefined> {
    const call = { ...this.#own, ...(overflow ? { overflow } : {}) };
    return unlessLeft(this.#options.governor.main(read, call), this.#call.signal);
  }

  /**
   * Sends the request. If the provider rejects the context, the engine makes it smaller and it is sent again; the harness never
   * learns of it.
   */
  async #go(read: WireRequest, way: Way): Promise<void> {
    const spliced = await way.spliced();
    const answer = await way.ask(spliced);
    if (!spliced) return way.answered(answer);
    const { signal } = this.#call;
    const checked = await refusalIn(this.#options.dialect, answer, {
      signal,
      isNearWindow: (status) => this.#isNearWindow(read, spliced, status),
    });
    const { refused, waiting } = checked;
    if (waiting)
      return way.answered(waited(answer, { ...waiting, signal }, (late) => this.#askedAgain(way, late)));
    if (!refused) return way.answered(checked.answer);
    checked.answer.stream.destroy();
    await way.answered(await this.#again(way, refused));
  }

  #isNearWindow(read: WireRequest, { body }: Spliced, status: number): boolean {
    const window = this.#options.governor.windowOf?.(read);
    return window !== undefined && isRefusedNearWindow(status, Buffer.concat(body).toString("utf8"), window);
  }

  /** Asks for a smaller context, and sends it. */
  async #again(way: Way, refused: WireAnswer): Promise<UpstreamAnswer> {
    await way.refused?.(refused);
    this.#checkConnected();
    return way.ask(await way.spliced({ message: refused.error?.message ?? "" }));
  }

  /** The same after the head of the stream was sent: only another stream can take the place of the first one. Never throws. */
  async #askedAgain(way: Way, refused: WireAnswer): Promise<UpstreamAnswer | undefined> {
    const { logger, id } = this.#options;
    try {
      const answer = await this.#again(way, refused);
      const isEvents = String(answer.headers["content-type"] ?? "").includes("text/event-stream");
      if (answer.status === 200 && isEvents && answer.headers["content-encoding"] === undefined)
        return answer;
      answer.stream.destroy();
    } catch (error) {
      const { code } = toPagurusError(error);
      logger.warn("gateway could not send a smaller context", {
        route: id,
        request: this.#own.request,
        code,
      });
    }
    return undefined;
  }

  /** Throws if the harness has disconnected: nothing is decided or sent for it then. */
  #checkConnected(): void {
    if (this.#call.signal.aborted)
      throw new PagurusError("turn_aborted", "The harness disconnected before its request was sent on.");
  }

  /** Records the answer. A failure does not change the answer, which the harness has or which reports an error already. */
  async #record(read: WireRequest, answer: WireAnswer, isAborted: boolean): Promise<void> {
    const { governor, logger, id } = this.#options;
    try {
      await governor.answered(read, answer, { ...this.#own, isAborted });
    } catch (error) {
      const { code } = toPagurusError(error);
      logger.warn("gateway could not record an answer", { route: id, request: this.#own.request, code });
    }
  }

  /** Sends the request. `answered` is called for each request with `sent`, also if it failed. */
  async #ask(upstream: Upstream, read: WireRequest, spliced: Spliced | undefined): Promise<UpstreamAnswer> {
    this.#checkConnected();
    this.#options.governor.sent(read, this.#own);
    try {
      return await this.#sendAsking(upstream, read, spliced);
    } catch (error) {
      const { message } = toPagurusError(error);
      const isAborted = this.#call.signal.aborted;
      const nothing: WireAnswer = {
        message: { role: "assistant", content: [] },
        isComplete: false,
        error: { message, overflow: false },
      };
      await atMost(this.#record(read, nothing, isAborted), RECORD_MS);
      throw error;
    }
  }

  /** With the question for the diagnosis, if there is one, and without it if the endpoint rejects that. */
  async #sendAsking(
    upstream: Upstream,
    read: WireRequest,
    spliced: Spliced | undefined,
  ): Promise<UpstreamAnswer> {
    const question = this.#question;
    if (!spliced || !question) return this.#send(upstream, read, spliced);
    const answer = await this.#send(upstream, read, { ...spliced, body: question.addedTo(spliced.body) });
    const accepted = await question.unlessRejected(answer, this.#call.signal);
    if (accepted) return accepted;
    this.#question = undefined;
    return this.#send(upstream, read, spliced);
  }

  async compaction(read: WireRequest, stages: Stages): Promise<void> {
    this.#begin(read, read.body);
    const { governor, dialect } = this.#options;
    const answer = await unlessLeft(governor.compaction(read, this.#own), this.#call.signal);
    if (answer) {
      const { summary } = answer;
      this.#summaries.add(summary);
      return this.#reply(dialect.answer(read, summary, usageOf(read, summary)), "engine");
    }
    if (read.compaction?.otherwise === "main") return this.#turn(asTurn(read), stages);
    await this.#go(read, {
      spliced: (overflow) => this.#compacting(read, overflow),
      ask: (spliced) => this.#send(governor.upstream(read), read, spliced),
      answered: (got) => this.#compacted(read, got, stages),
    });
  }

  /** If the engine's context cannot be spliced in, the compaction is sent unchanged. Throws `turn_aborted`. */
  async #compacting(
    read: WireRequest,
    overflow: { message: string } | undefined,
  ): Promise<Spliced | undefined> {
    const { dialect, logger, id } = this.#options;
    try {
      const governed = await this.#decided(withoutAsking(read), overflow);
      const addition = governed?.context.systemPromptAddition;
      return this.#splice(() =>
        this.#thinking.sendable(read, governed && spliceCompaction(read, governed, dialect), addition),
      );
    } catch (error) {
      this.#checkConnected();
      const { code } = toPagurusError(error);
      logger.warn("gateway passes a compaction as it is", { route: id, request: this.#own.request, code });
      return undefined;
    }
  }

  async #compacted(read: WireRequest, answer: UpstreamAnswer, stages: Stages): Promise<void> {
    const { governor, dialect } = this.#options;
    const reader = readerOf(dialect, answer, read);
    stages.streams();
    await this.relay(answer, reader);
    stages.streamed();
    const parsed = reader.end();
    if (parsed.isComplete && parsed.error === undefined) await governor.compacted?.(read, parsed);
  }

  /**
   * Answers a request that asks to check a summary of the engine by repeating it: the model has not seen what the summary is of.
   * False for any other request.
   */
  repeats(read: WireRequest, body: Buffer): boolean {
    const { checked } = read;
    if (checked === undefined || ![...this.#summaries].some((summary) => checked.includes(summary)))
      return false;
    this.#begin(read, body);
    this.#reply(this.#options.dialect.answer(read, checked, usageOf(read, checked)), "engine");
    return true;
  }

  /** Sends the request unchanged. */
  pass(read: WireRequest | undefined, body: Buffer): Promise<UpstreamAnswer> {
    this.#begin(read, body);
    return this.#send(this.#options.governor.upstream(read), read, undefined, body);
  }

  /**
   * Sends the request unchanged, and reads it while the endpoint works if a capture begins with it, else after the head of the answer
   * has been sent.
   */
  passUnread(body: Buffer, read: () => WireRequest | undefined): Promise<UpstreamAnswer> {
    const upstream = this.#options.governor.upstream(undefined);
    const answer = upstream.send(this.#requestTo(undefined, [body]));
    if (!this.#options.capture) return this.#readAfter(answer, read);
    // A failure meanwhile is thrown at the end.
    answer.catch(() => undefined);
    return this.#readMeanwhile(answer, () => {
      this.#begin(read(), body);
      this.#sent(upstream, [body], undefined);
    });
  }

  async #readMeanwhile(answer: Promise<UpstreamAnswer>, read: () => void): Promise<UpstreamAnswer> {
    // Node writes to a kept connection at the end of this step.
    await endOfStep();
    read();
    return answer;
  }

  async #readAfter(
    answer: Promise<UpstreamAnswer>,
    read: () => WireRequest | undefined,
  ): Promise<UpstreamAnswer> {
    this.#unread = read;
    const answered = await answer;
    setImmediate(() => this.#readLate());
    return answered;
  }

  /** Afterwards nothing of the request is kept. */
  #readLate(): void {
    const read = this.#unread;
    this.#unread = undefined;
    if (read) this.#kind = read()?.kind ?? "unknown";
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

  /** A request that cannot be spliced passes unchanged: more context than the engine wanted is better than no answer. */
  #splice(made: () => Spliced | undefined): Spliced | undefined {
    const { logger, id } = this.#options;
    try {
      return made();
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
    this.#sent(upstream, body, spliced);
    return upstream.send(this.#requestTo(read, body));
  }

  #sent(upstream: Upstream, body: readonly Buffer[], spliced: Spliced | undefined): void {
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
  }

  #requestTo(read: WireRequest | undefined, body: readonly Buffer[]): UpstreamRequest {
    const { method, path, query, rawHeaders, signal } = this.#call;
    return {
      method,
      path: `${path}${query}`,
      rawHeaders,
      body,
      read,
      dialect: this.#options.dialect,
      signal,
    };
  }

  async #answered(read: WireRequest, answer: UpstreamAnswer, stages: Stages): Promise<void> {
    const reader = readerOf(this.#options.dialect, answer, read);
    stages.streams();
    try {
      await this.relay(answer, reader);
    } finally {
      stages.streamed();
      const isAborted = this.#outcome.left || this.#call.signal.aborted;
      const answered = reader.end();
      const parsed = this.#question?.answered(answered) ?? withoutId(answered);
      this.#lost = parsed.degraded;
      this.#thinking.answered(parsed.message);
      if (parsed.isComplete)
        this.#options.named?.note(read.body, answered.cache?.responseId, reader.output?.() ?? []);
      if (parsed.error?.overflow === true) this.#options.overflows.note(read, parsed.error);
      await this.#record(read, parsed, isAborted);
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

/** A compaction that the provider is to make before it answers, as the request of the conversation that it is too. */
function asTurn({ compaction: _compaction, ...read }: WireRequest): WireRequest {
  return { ...read, kind: "main" };
}

/** Usage as if a model had read what was to be compacted. */
function usageOf(read: WireRequest, summary: string): Usage {
  const input = Math.ceil((read.list.end - read.list.start) / 4);
  const output = estimateTokens(summary);
  return { input, output, totalTokens: input + output };
}
