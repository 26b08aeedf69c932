/** Calls of a provider over the network, with their retries. Loaded at the first call. */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { isPagurusError, PagurusError } from "../contract/errors.ts";
import { sleep } from "../platform/deadline.ts";
import { Answer } from "./model-answer.ts";
import { DEFAULT_ANSWER_LIMITS } from "./answer-limits.ts";
import { CacheQuestion } from "./cache-question.ts";
import { classify, MalformedAnswer } from "./model-failure.ts";
import { callOptions, loadLanguageModel, withoutThinking } from "./language-model.ts";
import { Retries } from "./retries.ts";
import type { ModelPart, ModelRequest, ResolvedModel } from "./provider-types.ts";
import { watchCall } from "./watched-fetch.ts";

/** Calls a provider; see `streamModel`. */
export async function* streamProvider(
  model: ResolvedModel,
  request: ModelRequest,
): AsyncGenerator<ModelPart> {
  let options = callOptions(model, request);
  let thinkingSent = request.messages.some(
    (message) => message.role === "assistant" && message.content.some((part) => "signature" in part),
  );
  let question = CacheQuestion.of(model, request.previousResponseId);
  const retries = new Retries(request.retry, request.cacheKey ?? model.info.ref);
  // A call with arguments that are not JSON is retried once, then answered by the tool.
  let acceptsMalformed = retries.attempts === 1;
  for (let attempt = 1; ; attempt++) {
    const progress = { started: false, acceptsMalformed };
    try {
      yield* callOnce(model, request, options, progress, question);
      return;
    } catch (thrown) {
      if (request.signal.aborted) throw aborted(request.signal);
      if (isPagurusError(thrown)) throw thrown;
      const failure = classify(thrown, model, progress.started);
      acceptsMalformed ||= thrown instanceof MalformedAnswer || attempt + 1 >= retries.attempts;
      const isBad = failure.error.code === "model_bad_request";
      if (isBad && question?.isRejected(failure.error.message) === true) {
        question = undefined;
        yield { type: "retry", attempt, delayMs: 0, reason: failure.error.message };
        continue;
      }
      if (failure.staleThinking && thinkingSent) {
        // An answer without the earlier thinking is better than a stuck conversation.
        thinkingSent = false;
        options = callOptions(model, { ...request, messages: withoutThinking(request.messages) });
        yield { type: "retry", attempt, delayMs: 0, reason: failure.error.message };
        continue;
      }
      const delayMs = retries.pauseAfter(failure, attempt);
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
  question: CacheQuestion | undefined,
): AsyncGenerator<ModelPart> {
  if (request.signal.aborted) throw aborted(request.signal);
  const limits = { ...DEFAULT_ANSWER_LIMITS, ...request.limits };
  const edit = question && ((body: string): string => question.addedTo(body));
  const watch = watchCall(request.signal, limits, edit, request.observer);
  const answer = new Answer(model.info, progress);
  try {
    const languageModel = await loadLanguageModel(model);
    const { stream } = await languageModel.doStream({
      ...options,
      abortSignal: watch.signal,
      ...(question ? { includeRawChunks: true } : {}),
    });
    progress.started = true;
    const reader = stream.getReader();
    for (;;) {
      const next = await nextPart(reader, answer.finished);
      if (next.done) break;
      if (isContent(next.value)) watch.progress();
      if (question) note(question, next.value);
      const part = answer.take(next.value);
      if (part) yield part;
      if (answer.finished) watch.finishing();
    }
    yield { type: "finish", message: answer.message(), ...(question ? { cache: question.report() } : {}) };
  } catch (error) {
    throw watch.stopped() ?? error;
  } finally {
    watch.end();
  }
}

function note(question: CacheQuestion, part: LanguageModelV4StreamPart): void {
  if (part.type === "raw") question.takeEvent(part.rawValue);
  else if (part.type === "response-metadata" && part.id !== undefined) question.take({ responseId: part.id });
}

/** A connection failure after the answer's last event is ignored. */
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

/** Whether a part advances the answer. Empty deltas are another kind of keep-alive. */
function isContent(part: LanguageModelV4StreamPart): boolean {
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
    case "tool-input-delta":
      return part.delta !== "";
    case "tool-call":
    case "finish":
      return true;
    default:
      return false;
  }
}

function aborted(signal: AbortSignal): PagurusError {
  return new PagurusError("turn_aborted", "The model call was aborted.", { cause: signal.reason });
}
