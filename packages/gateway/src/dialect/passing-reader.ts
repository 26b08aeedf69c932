/** Reads an answer while the gateway passes it on, and converts it to an assistant message. */
import type { AssistantMessage, StopReason } from "@pagurus/contract/message";
import { saysContextOverflow } from "@pagurus/core/model/quirks/error-phrases";
import type { ProtocolReader, ReadAnswer, ReadPart } from "@pagurus/core/protocols/answer-reader";
import type { AnswerReader, WireAnswer } from "./wire-dialect.ts";
import { defined } from "@pagurus/core/data/defined";

type Content = AssistantMessage["content"];

const TOO_LARGE = 413;
const RATE_LIMITED = 429;

export interface PassingOptions {
  /** HTTP status of the answer. */
  status: number;
  /** A body that is too large is a context that is too long. */
  limitsBodies?: boolean;
  /** The content as later requests of the program have it. Default: that of the answer. */
  content?(answer: ReadAnswer): Content;
  /** The program asks again after this answer, though it has ended. */
  isUnusable?(answer: ReadAnswer, content: Content): boolean;
}

export class PassingReader implements AnswerReader {
  readonly #reader: ProtocolReader;
  readonly #options: PassingOptions;

  constructor(reader: ProtocolReader, options: PassingOptions) {
    this.#reader = reader;
    this.#options = options;
  }

  get opening(): ProtocolReader["opening"] {
    return this.#reader.opening;
  }

  take(chunk: Buffer): void {
    this.#reader.take(chunk);
  }

  end(): WireAnswer {
    const answer = this.#reader.end();
    const { content: contentOf = contentAsRead, isUnusable } = this.#options;
    const content = contentOf(answer);
    const { model, usage, cache, degraded } = answer;
    const error = this.#error(answer);
    const stopReason = error ? "error" : stopOfAnswer(answer);
    const errorMessage = error?.message ?? (stopReason === "error" ? filterSentence(answer) : undefined);
    const message: AssistantMessage = {
      role: "assistant",
      content,
      ...defined({ model, usage, stopReason, errorMessage }),
    };
    return {
      message,
      isComplete: answer.isComplete && isUnusable?.(answer, content) !== true,
      ...defined({ usage, cache, error }),
      ...(degraded.length > 0 ? { degraded } : {}),
    };
  }

  output(): readonly Record<string, unknown>[] {
    return this.#reader.output?.() ?? [];
  }

  #error({ error }: ReadAnswer): WireAnswer["error"] {
    if (!error) return undefined;
    const { status, limitsBodies = false } = this.#options;
    const code = error.code ?? error.type;
    const isLimited = status === RATE_LIMITED || error.status === RATE_LIMITED;
    const words = [error.code, error.type, error.message, error.page].join(" ");
    const overflow = (limitsBodies && status === TOO_LARGE) || (!isLimited && saysContextOverflow(words));
    const message = error.message || `The provider answered with status ${status} and no reason.`;
    return { message, ...defined({ code }), overflow };
  }
}

function stopOfAnswer({ end }: ReadAnswer): StopReason | undefined {
  switch (end?.reason) {
    case undefined:
      return undefined;
    case "overflow":
      return "length";
    case "refusal":
      return end.raw === undefined || end.raw === "stop" ? "stop" : "error";
    case "filter":
      return "error";
    default:
      return end?.reason;
  }
}

function filterSentence({ end, refusal }: ReadAnswer): string {
  if (refusal !== undefined) return refusal;
  const reason = end?.raw === undefined ? "" : ` (${end.raw})`;
  return end?.reason === "error"
    ? `The provider ended the answer with an error${reason}.`
    : `The provider's filter ended the answer${reason}.`;
}

/** The part for the transcript; arguments that are not an object become the value of `input`, as in later requests. */
export function recordedPart(part: ReadPart): Content[number] {
  if (part.type !== "toolCall") return part;
  const { unparsed, ...call } = part;
  return {
    ...call,
    name: call.name || "unknown",
    arguments: unparsed === undefined ? call.arguments : { input: unparsed },
  };
}

function contentAsRead({ content }: ReadAnswer): Content {
  return content.map(recordedPart);
}
