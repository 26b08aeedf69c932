import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { PagurusError } from "../contract/errors.ts";
import { sleep } from "../platform/deadline.ts";
import { Answer } from "./answer.ts";
import { classify, MalformedAnswer, type Failure } from "./failure.ts";
import { callOptions, loadLanguageModel } from "./language-model.ts";
import { streamOffline } from "./offline.ts";
import { withoutThinking } from "./signatures.ts";
import type { ModelPart, ModelRequest, ResolvedModel, RetryOptions } from "./types.ts";
import { watchedFetch } from "./watched-fetch.ts";

const DEFAULT_IDLE_MS = 120_000;
const DEFAULT_RETRY: Required<RetryOptions> = { attempts: 5, baseMs: 500, maxMs: 20_000 };
/** How far a server's `retry-after` may exceed our own longest pause. */
const RETRY_AFTER_FACTOR = 3;

/**
 * Calls a model and streams its answer; the last part is `finish` with the whole message. Failed calls are repeated
 * with growing pauses, each announced by a `retry` part. Leaving the loop or aborting closes the connection at once.
 * Throws `model_*`, `context_overflow`, `turn_aborted`; no error holds a secret.
 */
export async function* streamModel(model: ResolvedModel, request: ModelRequest): AsyncGenerator<ModelPart> {
  if (model.info.api === "offline") {
    yield* streamOffline(model.info, request);
    return;
  }
  let options = callOptions(model, request);
  let thinkingSent = request.messages.some(
    (message) => message.role === "assistant" && message.content.some((part) => "signature" in part),
  );
  const retry = { ...DEFAULT_RETRY, ...request.retry };
  const used = new Map<string, number>();
  // A model that cannot write its arguments as JSON is asked once more, then told by the tool.
  let acceptsMalformed = retry.attempts === 1;
  for (let attempt = 1; ; attempt++) {
    const progress = { started: false, acceptsMalformed };
    try {
      yield* callOnce(model, request, options, progress);
      return;
    } catch (thrown) {
      if (request.signal.aborted) throw aborted(request.signal);
      if (thrown instanceof PagurusError) throw thrown;
      const failure = classify(thrown, model, progress.started);
      acceptsMalformed ||= thrown instanceof MalformedAnswer || attempt + 1 >= retry.attempts;
      if (failure.staleThinking && thinkingSent) {
        // Better an answer without the earlier thinking than a conversation that can never go on.
        thinkingSent = false;
        options = callOptions(model, { ...request, messages: withoutThinking(request.messages) });
        yield { type: "retry", attempt, delayMs: 0, reason: failure.error.message };
        continue;
      }
      const { code } = failure.error;
      const count = (used.get(code) ?? 0) + 1;
      used.set(code, count);
      if (attempt >= retry.attempts || count > failure.retries) throw failure.error;
      const delayMs = pause(failure, attempt, retry, request.cacheKey ?? model.info.ref);
      yield { type: "retry", attempt, delayMs, reason: failure.error.message };
      await sleep(delayMs, request.signal);
    }
  }
}

/** One call, from the connection to the end of its answer. */
async function* callOnce(
  model: ResolvedModel,
  request: ModelRequest,
  options: LanguageModelV4CallOptions,
  progress: { started: boolean; readonly acceptsMalformed: boolean },
): AsyncGenerator<ModelPart> {
  if (request.signal.aborted) throw aborted(request.signal);
  const watch = watchedFetch(request.signal, request.idleTimeoutMs ?? DEFAULT_IDLE_MS);
  const answer = new Answer(model.info, progress);
  try {
    const languageModel = await loadLanguageModel(model, watch.fetch);
    const { stream } = await languageModel.doStream(options);
    progress.started = true;
    const reader = stream.getReader();
    for (;;) {
      const next = await nextPart(reader, answer.finished);
      if (next.done) break;
      const part = answer.take(next.value);
      if (part) yield part;
      if (answer.finished) watch.finishing();
    }
    yield { type: "finish", message: answer.message() };
  } catch (error) {
    throw watch.cut() ?? error;
  } finally {
    watch.end();
  }
}

/** A connection that fails after the answer's last event has nothing left to say. */
async function nextPart<T>(
  reader: ReadableStreamDefaultReader<T>,
  finished: boolean,
): Promise<{ done: true } | { done: false; value: T }> {
  try {
    const { done, value } = await reader.read();
    return done ? { done } : { done, value };
  } catch (error) {
    if (finished) return { done: true };
    throw error;
  }
}

/**
 * The pause before the next attempt: doubling, spread by a quarter to both sides, and at least what the server asked
 * for (up to three times our own limit). The spread comes from the session and the attempt, not from chance, so that
 * many sessions that failed together do not return together and a run can still be repeated.
 */
function pause(failure: Failure, attempt: number, retry: Required<RetryOptions>, key: string): number {
  const own = Math.min(retry.maxMs, retry.baseMs * 2 ** (attempt - 1));
  const spread = 0.75 + 0.5 * fraction(`${key} ${attempt}`);
  const asked = Math.min(failure.retryAfterMs ?? 0, retry.maxMs * RETRY_AFTER_FACTOR);
  return Math.round(Math.max(own * spread, asked));
}

/** FNV-1a of a text as a number from 0 up to 1. */
function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) / 2 ** 32;
}

function aborted(signal: AbortSignal): PagurusError {
  return new PagurusError("turn_aborted", "The model call was aborted.", { cause: signal.reason });
}
