/** Token counts of the generateContent API, where cached tokens are part of the prompt's, and thoughts are not part of the answer's. */
import type { Usage } from "../../contract/message.ts";
import { countOf, recordOf } from "../../data/record-fields.ts";

/** Undefined if the provider sent none. */
export function readUsage(value: unknown): Usage | undefined {
  const counts = recordOf(value);
  const prompt = countOf(counts["promptTokenCount"]);
  const answer = countOf(counts["candidatesTokenCount"]);
  const thoughts = countOf(counts["thoughtsTokenCount"]);
  if (prompt === undefined && answer === undefined) return undefined;
  const cacheRead = countOf(counts["cachedContentTokenCount"]);
  const ofTools = countOf(counts["toolUsePromptTokenCount"]) ?? 0;
  const input = Math.max(0, (prompt ?? 0) - (cacheRead ?? 0)) + ofTools;
  const output = (answer ?? 0) + (thoughts ?? 0);
  return {
    input,
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(thoughts === undefined ? {} : { reasoning: thoughts }),
    totalTokens: input + (cacheRead ?? 0) + output,
  };
}

export function usageFields({
  input,
  output,
  cacheRead = 0,
  cacheWrite = 0,
  reasoning = 0,
}: Usage): Record<string, number> {
  const prompt = input + cacheRead + cacheWrite;
  return {
    promptTokenCount: prompt,
    ...(cacheRead > 0 ? { cachedContentTokenCount: cacheRead } : {}),
    candidatesTokenCount: Math.max(0, output - reasoning),
    ...(reasoning > 0 ? { thoughtsTokenCount: reasoning } : {}),
    totalTokenCount: prompt + output,
  };
}
