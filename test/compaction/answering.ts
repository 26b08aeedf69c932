/** Scripted summarizing models, and a history for them. */
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import type {
  LlmComplete,
  LlmCompleteRequest,
  LlmCompleteResult,
} from "../../packages/contract/src/model.ts";
import { assistant, call, numbered, result, user } from "./histories.ts";

export const HISTORY: AgentMessage[] = numbered(
  Array.from({ length: 30 }, (_, index) => [
    user(`Request ${index}: look into module_${index}.ts and tell me what it does.`),
    assistant("", [call(`c${index}`, "read", { path: `src/module_${index}.ts` })]),
    result(`c${index}`, `export const value_${index} = ${index};\n`.repeat(20), { toolName: "read" }),
    assistant(`Module ${index} exports the constant value_${index}, twenty times over.`),
  ]).flat(),
);

export const SUMMARY = "## Goal\nUnderstand the modules.\n\n## State\nThe first modules are read.";
export const COMPLETE = `${SUMMARY}\n\n## Decisions and constraints\n- None.\n\n## Open asks\n- The rest of the modules.`;

export const BASE = {
  messages: HISTORY,
  liveStart: HISTORY.length,
  keepRecentTokens: 1_000,
  tokenBudget: 8_000,
  windowTokens: 8_000,
};

/** A model that answers `SUMMARY` unless `reply` overrides it; it records the requests. */
export function answering(
  reply: (request: LlmCompleteRequest, index: number) => Partial<LlmCompleteResult>,
): LlmComplete & { requests: LlmCompleteRequest[] } {
  const requests: LlmCompleteRequest[] = [];
  const llm = async (request: LlmCompleteRequest): Promise<LlmCompleteResult> => {
    requests.push(request);
    return {
      text: SUMMARY,
      provider: "p",
      model: "m",
      agentId: "main",
      ...reply(request, requests.length - 1),
    };
  };
  return Object.assign(llm, { requests });
}

export function contentOf(request: LlmCompleteRequest | undefined): string {
  return request?.messages.map((message) => message.content).join("\n") ?? "";
}
