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
import { decodingReader } from "./encoded.ts";
import type { Governed, GovernorCall } from "../governor/governor.ts";
import type { Stages } from "./order.ts";
import { atMost, unlessLeft } from "./timeouts.ts";
import { waited } from "./late-refusal.ts";
import { refusalIn } from "./refusal.ts";
import type { ExchangeFacts, RouteOptions } from "./route-facts.ts";
import type { WireCall } from "../server/gateway-call.ts";
import { passing, splice, type Spliced } from "../splice/splice-request.ts";
import type { Upstream, UpstreamAnswer, UpstreamRequest } from "../upstream/upstream.ts";
import { defined } from "@pagurus/core/data/defined";

/** How long a failure reply waits for its record, ms. */
const RECORD_MS = 30_000;

/** A request as it was sent. */
interface Sent {
  /** Undefined: it was sent unchanged. */
  spliced: Spliced | undefined;
  answer: UpstreamAnswer;
}

type Splicer = typeof splice | typeof spliceCompaction;

/** The provider's refusal of a context as too long. */
interface Overflow {
  message: string;
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
    // The request before failed at an overflow after output that could not be taken back.
    const before = this.#options.overflows.take(read);
    const answer = await this.#sendWithRetry(read, (refused) => this.#sendTurn(read, before, refused));
    await this.#relayTurn(read, answer, stages);
  }

  /** Sends a request of a turn with the engine's context. `refused`: the answer that rejected a larger one. */
  async #sendTurn(
    read: WireRequest,
    before: Overflow | undefined,
    refused: WireAnswer | undefined,
  ): Promise<Sent> {
    const { governor } = this.#options;
    if (refused) {
      await this.#record(read, refused, false);
      this.#checkConnected();
    }
    let governed = await this.#contextFor(read, overflowOf(refused));
    if (before && !refused && governed) governed = await this.#contextFor(read, before);
    const spliced = this.#splice(read, governed, splice);
    if (spliced?.isReplaced === true) this.#prepareDiagnosis(read, governed?.context.previousResponseId);
    return { spliced, answer: await this.#sendNoted(governor.upstream(read), read, spliced) };
  }

  #prepareDiagnosis(read: WireRequest, previousId: string | undefined): void {
    const { dialect, governor } = this.#options;
    const { headers } = this.#call;
    this.#question = WireCacheQuestion.of(read, previousId, {
      dialect,
      upstream: governor.upstream(read),
      headers,
    });
  }

  #contextFor(read: WireRequest, overflow: Overflow | undefined): Promise<Governed | undefined> {
    const call = { ...this.#own, ...defined({ overflow }) };
    return unlessLeft(this.#options.governor.main(read, call), this.#call.signal, this.#options.clock);
  }

  /**
   * Sends a request, and once more with a smaller context if the provider rejects the first one as too long; the harness never learns of
   * it. `send` gets the refusal for its second attempt.
   */
  async #sendWithRetry(
    read: WireRequest,
    send: (refused?: WireAnswer) => Promise<Sent>,
  ): Promise<UpstreamAnswer> {
    const { spliced, answer } = await send();
    if (!spliced) return answer;
    const { signal } = this.#call;
    const checked = await refusalIn(this.#options.dialect, answer, {
      signal,
      isNearWindow: (status) => this.#isNearWindow(read, spliced, status),
    });
    const { refused, waiting } = checked;
    if (waiting) return waited(answer, { ...waiting, signal }, (late) => this.#retryLate(() => send(late)));
    if (!refused) return checked.answer;
    checked.answer.stream.destroy();
    return (await send(refused)).answer;
  }

  #isNearWindow(read: WireRequest, { body }: Spliced, status: number): boolean {
    const window = this.#options.governor.windowOf?.(read);
    return window !== undefined && isRefusedNearWindow(status, Buffer.concat(body).toString("utf8"), window);
  }

  /** A retry after the head of the stream was sent: only another stream can take the place of the first one. Never throws. */
  async #retryLate(send: () => Promise<Sent>): Promise<UpstreamAnswer | undefined> {
    const { logger, id } = this.#options;
    try {
      const { answer } = await send();
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

  /** Sends the request. The governor's `answered` is called for each request with `sent`, also if it failed. */
  async #sendNoted(
    upstream: Upstream,
    read: WireRequest,
    spliced: Spliced | undefined,
  ): Promise<UpstreamAnswer> {
    this.#checkConnected();
    this.#options.governor.sent(read, this.#own);
    try {
      return await this.#sendWithDiagnosis(upstream, read, spliced);
    } catch (error) {
      const { message } = toPagurusError(error);
      const isAborted = this.#call.signal.aborted;
      const nothing: WireAnswer = {
        message: { role: "assistant", content: [] },
        isComplete: false,
        error: { message, overflow: false },
      };
      await atMost(this.#record(read, nothing, isAborted), RECORD_MS, undefined, this.#options.clock);
      throw error;
    }
  }

  /** Asks for the provider's diagnosis too, if one is prepared, and not if the endpoint rejects that. */
  async #sendWithDiagnosis(
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
    const answer = await unlessLeft(
      governor.compaction(read, this.#own),
      this.#call.signal,
      this.#options.clock,
    );
    if (answer) {
      const { summary } = answer;
      this.#summaries.add(summary);
      return this.#reply(dialect.answer(read, summary, usageOf(read, summary)), "engine");
    }
    if (read.compaction?.otherwise === "main") return this.#turn(asTurn(read), stages);
    const sent = await this.#sendWithRetry(read, (refused) => this.#sendCompaction(read, refused));
    await this.#relayCompaction(read, sent, stages);
  }

  async #sendCompaction(read: WireRequest, refused: WireAnswer | undefined): Promise<Sent> {
    if (refused) this.#checkConnected();
    const spliced = await this.#spliceCompaction(read, overflowOf(refused));
    return { spliced, answer: await this.#send(this.#options.governor.upstream(read), read, spliced) };
  }

  /** If the engine's context cannot be spliced in, the compaction is sent unchanged. Throws `turn_aborted`. */
  async #spliceCompaction(read: WireRequest, overflow: Overflow | undefined): Promise<Spliced | undefined> {
    const { logger, id } = this.#options;
    try {
      const governed = await this.#contextFor(withoutAsking(read), overflow);
      return this.#splice(read, governed, spliceCompaction);
    } catch (error) {
      this.#checkConnected();
      const { code } = toPagurusError(error);
      logger.warn("gateway passes a compaction as it is", { route: id, request: this.#own.request, code });
      return undefined;
    }
  }

  async #relayCompaction(read: WireRequest, answer: UpstreamAnswer, stages: Stages): Promise<void> {
    const { governor, dialect } = this.#options;
    const reader = decodingReader(dialect, answer, read);
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
      this.#captureSent(upstream, [body], undefined);
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
  #splice(read: WireRequest, governed: Governed | undefined, by: Splicer): Spliced | undefined {
    const { logger, id, dialect } = this.#options;
    try {
      const made = governed && by(read, governed, dialect);
      return this.#thinking.sendable(read, made, governed?.context.systemPromptAddition);
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
    this.#captureSent(upstream, body, spliced);
    return upstream.send(this.#requestTo(read, body));
  }

  #captureSent(upstream: Upstream, body: readonly Buffer[], spliced: Spliced | undefined): void {
    this.#isReplaced = spliced?.isReplaced ?? false;
    this.#captured?.sent(upstream.label, body, {
      replaced: this.#isReplaced,
      ...defined({ secrets: upstream.secrets }),
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

  async #relayTurn(read: WireRequest, answer: UpstreamAnswer, stages: Stages): Promise<void> {
    const reader = decodingReader(this.#options.dialect, answer, read);
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

function overflowOf(refused: WireAnswer | undefined): Overflow | undefined {
  return refused && { message: refused.error?.message ?? "" };
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
