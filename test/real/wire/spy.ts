/** Records the engine's results for the tests of the wire seam: its context before each request, as lines. */
import type { AssembleResult } from "../../../packages/contract/src/engine/engine-params.ts";
import type { ContextEngine, EngineFactoryContext } from "../../../packages/contract/src/engine/engine.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { createLosslessEngine } from "../../../packages/lossless/src/lossless-engine.ts";

/** The engine of the slot, with its last result and the number of its compactions. */
export class Spy {
  last: AssembleResult | undefined;
  compactions = 0;

  make(context: EngineFactoryContext): ContextEngine {
    const engine = createLosslessEngine(context);
    return {
      ...engine,
      info: { ...engine.info, id: "spy" },
      assemble: async (params) => {
        const answer = await engine.assemble(params);
        const before = this.last?.contextProjection?.epoch;
        if (before !== undefined && before !== answer.contextProjection?.epoch) this.compactions += 1;
        this.last = answer;
        return answer;
      },
    };
  }
}

export function textOf(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** As the benches write a request, without thinking. */
export function linesOf(messages: readonly AgentMessage[]): string[] {
  return messages.flatMap((message): string[] => {
    if (message.role === "user") return [`user: ${textOf(message)}`];
    if (message.role === "toolResult") return [`result ${message.toolCallId} ${textOf(message)}`];
    return message.content.flatMap((part): string[] => {
      if (part.type === "text") return part.text === "" ? [] : [`assistant: ${part.text}`];
      return part.type === "toolCall" ? [`call ${part.name} ${part.id}`] : [];
    });
  });
}
