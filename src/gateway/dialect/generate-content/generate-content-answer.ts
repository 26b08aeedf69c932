/** Builds a message from the chunks of an answer. */
import type { AssistantMessage, StopReason, Usage } from "../../../contract/message.ts";
import { type Fields, recordOf, recordsOf, stringOf } from "../../../data/record-fields.ts";
import type { TurnCalls } from "../../../protocols/gemini/gemini-calls.ts";
import { answerContent, answerText, callsIn, partsOf } from "../../../protocols/gemini/gemini-parts.ts";
import { readUsage } from "../../../protocols/gemini/gemini-usage.ts";
import type { WireAnswer } from "../wire-dialect.ts";

/** Ends of answers that no client keeps: it asks again. */
const UNUSABLE = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
]);

export class AnswerParts {
  readonly #parts: Fields[] = [];
  #model = "";
  #usage: Usage | undefined;
  #reason = "";
  #blocked = "";

  /** A chunk of a stream, or a whole answer; the last counts and the last reason are used. */
  add(chunk: Fields): void {
    this.#model = stringOf(chunk["modelVersion"]) || this.#model;
    this.#usage = readUsage(chunk["usageMetadata"]) ?? this.#usage;
    this.#blocked ||= stringOf(recordOf(chunk["promptFeedback"])["blockReason"]);
    const [candidate] = recordsOf(chunk["candidates"]);
    if (!candidate) return;
    this.#parts.push(...partsOf(recordOf(candidate["content"])));
    this.#reason = stringOf(candidate["finishReason"]) || this.#reason;
  }

  #stop(hasCalls: boolean): StopReason | undefined {
    if (this.#reason === "MAX_TOKENS") return "length";
    if (this.#reason === "STOP") return hasCalls ? "toolUse" : "stop";
    return this.#reason === "" && this.#blocked === "" ? undefined : "error";
  }

  /** `turn`: the one that the answer belongs to. */
  end(error: WireAnswer["error"], turn: TurnCalls): WireAnswer {
    const calls = turn.answer(answerText(this.#parts), callsIn(this.#parts));
    const content = answerContent(this.#parts, calls);
    const usage = this.#usage;
    const stop = error ? "error" : this.#stop(content.some(({ type }) => type === "toolCall"));
    const filtered = `The provider's filter ended the answer (${this.#reason || this.#blocked}).`;
    const message: AssistantMessage = {
      role: "assistant",
      content,
      ...(this.#model === "" ? {} : { model: this.#model }),
      ...(usage ? { usage } : {}),
      ...(stop ? { stopReason: stop } : {}),
      ...(stop === "error" ? { errorMessage: error?.message ?? filtered } : {}),
    };
    // Gemini often ends an answer without any content, and clients ask again.
    const isEmpty = stop === "stop" && content.every(({ type }) => type === "thinking");
    return {
      message,
      isComplete: stop !== undefined && !error && !isEmpty && !UNUSABLE.has(this.#reason),
      ...(usage ? { usage } : {}),
      ...(error ? { error } : {}),
    };
  }
}
