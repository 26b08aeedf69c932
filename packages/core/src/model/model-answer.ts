/** The message of a complete answer, or the error that it is. */
import type { AssistantMessage, StopReason } from "@pagurus/contract/message";
import { PagurusError } from "@pagurus/contract/errors";
import type { ModelInfo } from "@pagurus/contract/model";
import { boundedArguments, INVALID_JSON, REFUSED_ARGUMENTS } from "../platform/call-arguments.ts";
import type { AnswerEnd, ReadAnswer, ReadCall } from "../protocols/answer-reader.ts";
import { MalformedAnswer, ServerError, StreamCut } from "./model-failure.ts";
import { pricedUsage } from "./model-usage.ts";
import { answeredContent } from "./shaped-call.ts";
import { quirksOf } from "./quirks/quirk-table.ts";
import { defined } from "../data/defined.ts";

type Content = AssistantMessage["content"];

/** Longest words of a model or of a server in an error. */
const MOST_EMPTY_WORDS = 1_000;

/**
 * `acceptsMalformed`: arguments that are not a JSON object are passed on under `__invalid_json`. Throws `ServerError` with the server's
 * words, `StreamCut` without a sign of the end, `model_refused`, `context_overflow`, and `MalformedAnswer` for arguments that are no
 * JSON object.
 */
export function messageOf(
  answer: ReadAnswer,
  info: ModelInfo,
  { acceptsMalformed, answerTool }: { acceptsMalformed: boolean; answerTool?: string | undefined },
): AssistantMessage {
  if (answer.error) throw new ServerError(answer.error);
  if (!answer.isComplete) throw incomplete(answer);
  const { end = { reason: "stop" } } = answer;
  failIfUseless(end, answer, info);
  const isCut = end.reason === "length";
  const called = answer.content.map((part) =>
    part.type === "toolCall" ? calledPart(part, { isCut, acceptsMalformed }) : part,
  );
  const content = answeredContent(called, answerTool);
  addRefusal(content, answer.refusal);
  const usage = answer.usage && pricedUsage(answer.usage, info.cost);
  return {
    role: "assistant",
    content,
    provider: info.provider,
    model: info.id,
    ...defined({ usage }),
    stopReason: stopReason(isCut, content),
    timestamp: Date.now(),
  };
}

function incomplete({ unreadable }: ReadAnswer): Error {
  if (unreadable !== undefined) return new MalformedAnswer(unreadable);
  return new StreamCut("the stream ended before the answer did");
}

function failIfUseless({ reason, raw }: AnswerEnd, { refusal }: ReadAnswer, info: ModelInfo): void {
  if (reason === "overflow")
    throw new PagurusError("context_overflow", `The context fills the window of "${info.ref}".`);
  if (reason === "error")
    throw new StreamCut(`the server ended the answer with an error${raw === undefined ? "" : ` (${raw})`}`);
  const isRefused = reason === "filter" || (reason === "refusal" && quirksOf(info).refusalsFail);
  if (!isRefused) return;
  const ended = `The safety filter of the provider "${info.provider}" ended the answer of "${info.id}"`;
  const words =
    refusal === undefined || refusal === "" ? "" : `: ${refusal.slice(0, MOST_EMPTY_WORDS).toWellFormed()}`;
  throw new PagurusError("model_refused", `${ended}${words}; rephrase the input or choose another model.`, {
    details: { provider: info.provider, model: info.id, reason: raw },
  });
}

/** The call without the reader's fields. At the output limit the last call is cut. */
function calledPart(
  { unparsed, ...call }: ReadCall,
  { isCut, acceptsMalformed }: { isCut: boolean; acceptsMalformed: boolean },
): Content[number] {
  if (unparsed === undefined) return { ...call, arguments: boundedArguments(call.arguments) };
  if (isCut) return { ...call, arguments: { [REFUSED_ARGUMENTS]: "were cut at the output limit" } };
  if (!acceptsMalformed)
    throw new MalformedAnswer(`the arguments of the call of "${call.name}" are no object`);
  return { ...call, arguments: boundedArguments({ [INVALID_JSON]: unparsed }) };
}

/** A refusal is the answer, also where its words came outside of it. */
function addRefusal(content: Content, refusal: string | undefined): void {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  if (refusal !== undefined && refusal !== "" && !text.includes(refusal))
    content.push({ type: "text", text: refusal });
}

function stopReason(isCut: boolean, content: Content): StopReason {
  if (isCut) return "length";
  return content.some((part) => part.type === "toolCall") ? "toolUse" : "stop";
}
