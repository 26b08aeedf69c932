/** A second runtime of the host, which answers without a model: for sessions that go from one runtime to another. */
import type { AgentHarness } from "../../contract/harness.ts";
import { HARNESS_CONTRACT } from "../../contract/version.ts";

export const OTHER_RUNTIME = "suite-other";

export function otherHarness(answer: () => string): AgentHarness {
  return {
    id: OTHER_RUNTIME,
    label: "Another runtime",
    contract: HARNESS_CONTRACT,
    execution: { kind: "in-process" },
    seam: "native",
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
    supports: () => ({ supported: true }),
    runTurn: async (turn) => {
      await turn.assemble();
      turn.receipt({});
      const content = [{ type: "text" as const, text: answer() }];
      await turn.emit({ type: "message", message: { role: "assistant", content, timestamp: Date.now() } });
      return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
    },
  };
}
