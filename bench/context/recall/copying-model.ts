/** A summarizing model that copies each line with a planted value that it is shown, while its limit takes them. */
import type { LlmComplete } from "../../../packages/contract/src/model.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";

/** The form of a planted value, in `facts.ts`. */
const VALUE = /\b[a-z]{6}-[0-9a-f]{6}\b/;
/** Characters of a copied line around the value. */
const AROUND = 160;
/** Share of the answer's limit that is used. */
const FILLED = 0.6;

function factOf(line: string): string | undefined {
  const at = VALUE.exec(line)?.index;
  return at === undefined ? undefined : line.slice(Math.max(0, at - AROUND), at + AROUND / 2).trim();
}

/** Counts its calls in `calls`. It keeps the first facts that fit, as one that reads from the beginning. */
export function copyingModel(calls: { count: number }): LlmComplete {
  return ({ messages, maxTokens = 1_000 }) => {
    calls.count += 1;
    const shown = messages.map(({ content }) => content).join("\n");
    const facts = new Set(shown.split("\n").flatMap((line) => factOf(line) ?? []));
    const kept: string[] = [];
    let left = maxTokens * FILLED;
    for (const fact of facts) {
      left -= estimateTokens(fact) + 3;
      if (left < 0) break;
      kept.push(`- ${fact}`);
    }
    const state = kept.length === 0 ? "- Nothing new." : kept.join("\n");
    const text = `## Goal\n- The work continues.\n## State\n${state}\n## Decisions and constraints\n- None.\n## Open asks\n- None.`;
    return Promise.resolve({
      text,
      provider: "replay",
      model: "copies",
      agentId: "main",
      stopReason: "stop",
      usage: usageOf(estimateTokens(shown), estimateTokens(text)),
    });
  };
}

function usageOf(input: number, output: number): { input: number; output: number; totalTokens: number } {
  return { input, output, totalTokens: input + output };
}
