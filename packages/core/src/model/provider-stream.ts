/** Calls of a provider over the network, with their retries. Loaded at the first call. */
import type { AssistantMessage } from "@pagurus/contract/message";
import { isPagurusError, PagurusError } from "@pagurus/contract/errors";
import { sleep } from "../platform/deadline.ts";
import type { ReadAnswer } from "../protocols/answer-reader.ts";
import { readerOf } from "../protocols/reader-of.ts";
import { DEFAULT_ANSWER_LIMITS } from "./answer-limits.ts";
import { CacheQuestion } from "./cache-question.ts";
import type { HttpAnswer, HttpRequest } from "./http-post.ts";
import { messageOf } from "./model-answer.ts";
import { modelCall, postedRequest, withoutThinking } from "./model-call.ts";
import { classify, MalformedAnswer, ServerError } from "./model-failure.ts";
import { withOverflowEvidence } from "./overflow-evidence.ts";
import { Retries } from "./retries.ts";
import type { ModelProtocol } from "./quirks/quirk-kinds.ts";
import type { ModelPart, ModelRequest, ResolvedModel } from "./provider-types.ts";
import { watchCall, type CallWatch } from "./watched-call.ts";
import { meantTool } from "../data/tool-names.ts";

/** Calls under the names of the offered tools that a model means: a decorated name is refused by providers in later requests. */
function withMeantTools(
  message: AssistantMessage,
  tools: readonly { readonly name: string }[],
): AssistantMessage {
  const names = tools.map(({ name }) => name);
  const content = message.content.map((part) => {
    if (part.type !== "toolCall") return part;
    const name = meantTool(part.name, names);
    return name === undefined || name === part.name ? part : { ...part, name };
  });
  return { ...message, content };
}

/** State of one call. */
interface Progress {
  /** The server has begun its answer. */
  started: boolean;
  readonly acceptsMalformed: boolean;
}

/** Calls a provider; see `streamModel`. */
export async function* streamProvider(
  model: ResolvedModel,
  request: ModelRequest,
): AsyncGenerator<ModelPart> {
  let call = modelCall(model, request);
  const protocol = await call.quirks.loadProtocol();
  let thinkingSent = request.messages.some(
    (message) => message.role === "assistant" && message.content.some((part) => "signature" in part),
  );
  let question = CacheQuestion.of(model, request.previousResponseId);
  const retries = new Retries(request.retry, request.cacheKey ?? model.info.ref);
  // A call with arguments that are not JSON is retried once, then answered by the tool.
  let acceptsMalformed = retries.attempts === 1;
  for (let attempt = 1; ; attempt++) {
    const progress: Progress = { started: false, acceptsMalformed };
    let body = "";
    try {
      const posted = postedRequest(model, protocol, call);
      body = posted.body;
      const { answerTool } = call;
      yield* callOnce({ model, request, protocol, progress, answerTool, question }, posted);
      return;
    } catch (thrown) {
      if (request.signal.aborted) throw aborted(request.signal);
      if (isPagurusError(thrown)) throw thrown;
      const refused = classify(thrown, model, progress.started);
      const failure = withOverflowEvidence(refused, model, body);
      acceptsMalformed ||= thrown instanceof MalformedAnswer || attempt + 1 >= retries.attempts;
      const isBad = refused.error.code === "model_bad_request";
      if (isBad && question?.isRejected(failure.error.message) === true) {
        question = undefined;
        yield { type: "retry", attempt, delayMs: 0, reason: failure.error.message };
        continue;
      }
      if (failure.staleThinking && thinkingSent) {
        // An answer without the earlier thinking is better than a stuck conversation.
        thinkingSent = false;
        call = modelCall(model, { ...request, messages: withoutThinking(request.messages) });
        yield { type: "retry", attempt, delayMs: 0, reason: failure.error.message };
        continue;
      }
      const delayMs = retries.pauseAfter(failure, attempt);
      yield { type: "retry", attempt, delayMs, reason: failure.error.message };
      await sleep(delayMs, request.signal);
    }
  }
}

interface CallOptions {
  model: ResolvedModel;
  request: ModelRequest;
  protocol: ModelProtocol;
  progress: Progress;
  answerTool: string | undefined;
  question: CacheQuestion | undefined;
}

/** One call, from the connection to the end of its answer. */
async function* callOnce(options: CallOptions, posted: HttpRequest): AsyncGenerator<ModelPart> {
  const { model, request, progress, question, answerTool } = options;
  if (request.signal.aborted) throw aborted(request.signal);
  const limits = { ...DEFAULT_ANSWER_LIMITS, ...request.limits };
  const watch = watchCall(request.signal, limits, request.observer);
  try {
    const body = question ? question.addedTo(posted.body) : posted.body;
    const response = await watch.post({ ...posted, body }, request.onSent);
    const shown = { text: "", thinking: "" };
    const answer = yield* readProviderAnswer(options, watch, response, shown);
    if (!isOk(response)) throw httpError(answer, response);
    if (question) question.take(answer.cache ?? {});
    const read = messageOf(answer, model.info, { ...progress, answerTool });
    const message = withMeantTools(read, request.tools);
    yield* unshown(message, shown);
    const { degraded } = answer;
    yield {
      type: "finish",
      message,
      ...(question ? { cache: question.report() } : {}),
      ...(degraded.length > 0 ? { degraded } : {}),
    };
  } catch (error) {
    throw watch.stopped() ?? error;
  } finally {
    watch.end();
  }
}

/** Streamed words of an answer. */
type Shown = Record<"text" | "thinking", string>;

/** The words of an answer that were not streamed: those of a body that is no stream, and of a refusal outside of the content. */
function* unshown({ content }: AssistantMessage, shown: Shown): Generator<ModelPart> {
  const whole: Shown = { text: "", thinking: "" };
  for (const part of content) {
    if (part.type === "text") whole.text += part.text;
    else if (part.type === "thinking") whole.thinking += part.thinking;
  }
  for (const type of ["thinking", "text"] as const) {
    const delta = whole[type].startsWith(shown[type]) ? whole[type].slice(shown[type].length) : "";
    if (delta !== "") yield { type, delta };
  }
}

/** Reads an answer to its end; a connection failure after a sign of the end is ignored. */
async function* readProviderAnswer(
  { protocol, progress, request }: CallOptions,
  watch: CallWatch,
  response: HttpAnswer,
  shown: Shown,
): AsyncGenerator<ModelPart, ReadAnswer> {
  const reader = await readerOf(protocol.api, response);
  try {
    for await (const chunk of watch.bytes(response)) {
      const pieces = reader.take(chunk);
      progress.started ||= isOk(response) && reader.opening === "over";
      if (pieces.length > 0) watch.progress();
      for (const piece of pieces) {
        if (piece.type === "call") {
          request.onCall?.();
          continue;
        }
        shown[piece.type] += piece.delta;
        yield piece;
      }
      if (reader.isEnded) watch.finishing();
    }
  } catch (error) {
    progress.started ||= isOk(response) && reader.opening !== "failed";
    if (!reader.isEnded || request.signal.aborted) throw error;
  }
  progress.started ||= isOk(response) && reader.opening !== "failed";
  return reader.end();
}

function isOk({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

function httpError({ error }: ReadAnswer, { status, statusText, headers }: HttpAnswer): ServerError {
  return new ServerError({ ...error, message: error?.message || statusText, status }, headers);
}

function aborted(signal: AbortSignal): PagurusError {
  return new PagurusError("turn_aborted", "The model call was aborted.", { cause: signal.reason });
}
