/** Token counts of the generateContent API, where cached tokens are part of the prompt's, and thoughts are not part of the answer's. */
import type { Usage } from "@pagurus/contract/message";
import { recordOf } from "../../data/record-fields.ts";
import { plainCount } from "../answer-values.ts";
import { defined } from "../../data/defined.ts";

/** Undefined if the provider sent none. */
export function readUsage(value: unknown): Usage | undefined {
  const counts = recordOf(value);
  const prompt = plainCount(counts["promptTokenCount"]);
  const answer = plainCount(counts["candidatesTokenCount"]);
  const thoughts = plainCount(counts["thoughtsTokenCount"]);
  if (prompt === undefined && answer === undefined) return undefined;
  const cacheRead = plainCount(counts["cachedContentTokenCount"]);
  const ofTools = plainCount(counts["toolUsePromptTokenCount"]) ?? 0;
  const input = Math.max(0, (prompt ?? 0) - (cacheRead ?? 0)) + ofTools;
  const output = (answer ?? 0) + (thoughts ?? 0);
  return {
    input,
    output,
    ...defined({ cacheRead, reasoning: thoughts }),
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
