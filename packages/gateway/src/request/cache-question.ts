/**
 * The question for the provider's diagnosis of cache misses, in a main request that the gateway changes anyway: at an endpoint that
 * documents it, with an API key. Requests with a login by subscription keep every member as the program sends it.
 */
import { CacheQuestion } from "@pagurus/core/model/cache-question";
import type { Dialect, WireAnswer, WireHeaders, WireRequest } from "../dialect/wire-dialect.ts";
import { objectMembers, wholeValue } from "../json/scan.ts";
import type { Upstream, UpstreamAnswer } from "../upstream/upstream.ts";
import { decodingReader } from "./encoded.ts";
import { readRejection } from "./refusal.ts";

/** A key in this header; Anthropic's logins by subscription have a bearer token instead. */
const MESSAGES_KEY = "x-api-key";

export class WireCacheQuestion {
  readonly #question: CacheQuestion;
  readonly #dialect: Dialect;

  private constructor(question: CacheQuestion, dialect: Dialect) {
    this.#question = question;
    this.#dialect = dialect;
  }

  /** Undefined where nothing is to be asked, or the program asks itself. Throws `JsonScanError`. */
  static of(
    read: WireRequest,
    previousId: string | undefined,
    { dialect, upstream, headers }: { dialect: Dialect; upstream: Upstream; headers: WireHeaders },
  ): WireCacheQuestion | undefined {
    const hasKey = read.api !== "anthropic-messages" || headers[MESSAGES_KEY] !== undefined;
    if (upstream.diagnosesCache?.(hasKey) !== true) return undefined;
    const info = { api: read.api, provider: "", id: read.model };
    const target = { info, baseUrl: upstream.label, diagnosesCache: true };
    const question = CacheQuestion.of(target, previousId ?? null);
    if (!question) return undefined;
    const { name } = question;
    if (name !== undefined && objectMembers(read.body, wholeValue(read.body)).has(name)) return undefined;
    return new WireCacheQuestion(question, dialect);
  }

  addedTo(body: readonly Buffer[]): Buffer[] {
    const last = body.at(-1) ?? Buffer.alloc(0);
    return [...body.slice(0, -1), Buffer.from(this.#question.addedTo(last.toString("utf8")))];
  }

  /** The answer; undefined where the endpoint rejected the request for the question. Never throws. */
  async unlessRejected(answer: UpstreamAnswer, signal: AbortSignal): Promise<UpstreamAnswer | undefined> {
    if (answer.status !== 400) return answer;
    const begun = await readRejection(answer, signal);
    const reader = decodingReader(this.#dialect, answer);
    reader.take(begun.body);
    if (!this.#question.isRejected(reader.end().error?.message ?? "")) return begun.answer;
    begun.answer.stream.destroy();
    return undefined;
  }

  /** The answer with what it reports as an answer to the question. */
  answered(answer: WireAnswer): WireAnswer {
    this.#question.take(answer.cache ?? {});
    return answer.isComplete ? { ...answer, cache: this.#question.report() } : answer;
  }
}

/** An id is only kept of an answer that can be compared with: one that was asked. */
export function withoutId(answer: WireAnswer): WireAnswer {
  const { cache, ...rest } = answer;
  return cache?.diagnosis ? { ...rest, cache: { diagnosis: cache.diagnosis } } : rest;
}
