/** An answer of the generateContent API that passes, with the ids that later requests of the conversation give its calls. */
import type { AssistantMessage } from "@pagurus/contract/message";
import { GeminiState, geminiReader } from "@pagurus/core/protocols/gemini/gemini-reader";
import { answerContent, geminiAnswerText, callsIn } from "@pagurus/core/protocols/gemini/gemini-parts";
import { PassingReader } from "../passing-reader.ts";
import type { AnswerReader, WireHeaders, WireRequest } from "../wire-dialect.ts";
import { turnAfter } from "./generate-content-items.ts";

/** A surrogate pair may be split over two parts, so halves are replaced after the parts are joined. */
function wellFormedPart(part: AssistantMessage["content"][number]): AssistantMessage["content"][number] {
  if (part.type === "text") return { ...part, text: part.text.toWellFormed() };
  return part.type === "thinking" ? { ...part, thinking: part.thinking.toWellFormed() } : part;
}

export function passingReader(status: number, headers: WireHeaders, request?: WireRequest): AnswerReader {
  const state = new GeminiState();
  return new PassingReader(geminiReader({ status, headers }, state), {
    status,
    content: () => {
      const { parts } = state;
      const calls = turnAfter(request?.items ?? []).answer(geminiAnswerText(parts), callsIn(parts));
      return answerContent(parts, calls).map(wellFormedPart);
    },
    // Gemini often ends an answer without any content, or with a call that is none, and clients ask again.
    isUnusable: ({ end }, content) =>
      end?.reason === "error" ||
      ((end?.reason === "stop" || end?.reason === "toolUse") &&
        content.every(({ type }) => type === "thinking")),
  });
}
