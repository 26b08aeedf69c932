/** An answer of the generateContent API that passes, with the ids that later requests of the conversation give its calls. */
import { GeminiState, geminiReader } from "../../../protocols/gemini/gemini-reader.ts";
import { answerContent, answerText, callsIn } from "../../../protocols/gemini/gemini-parts.ts";
import { PassingReader } from "../passing-reader.ts";
import type { AnswerReader, WireHeaders, WireRequest } from "../wire-dialect.ts";
import { turnAfter } from "./generate-content-items.ts";

export function passingReader(status: number, headers: WireHeaders, request?: WireRequest): AnswerReader {
  const state = new GeminiState();
  return new PassingReader(geminiReader({ status, headers }, state), {
    status,
    content: () => {
      const { parts } = state;
      const calls = turnAfter(request?.items ?? []).answer(answerText(parts), callsIn(parts));
      return answerContent(parts, calls);
    },
    // Gemini often ends an answer without any content, or with a call that is none, and clients ask again.
    isUnusable: ({ end }, content) =>
      end?.reason === "error" ||
      ((end?.reason === "stop" || end?.reason === "toolUse") &&
        content.every(({ type }) => type === "thinking")),
  });
}
