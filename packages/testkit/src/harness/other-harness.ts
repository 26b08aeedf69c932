/** A second runtime of the host, which answers without a model: for sessions that switch between runtimes. */
import type { AgentHarness, HarnessTurnResult } from "@pagurus/contract/harness/harness";
import { HARNESS_CONTRACT } from "@pagurus/contract/version";

export const OTHER_RUNTIME = "suite-other";

export function otherHarness(answer: () => string): AgentHarness {
  return {
    id: OTHER_RUNTIME,
    label: "Another runtime",
    contract: HARNESS_CONTRACT,
    execution: { kind: "in-process" },
    seam: "embedded",
    capabilities: ["bootstrap", "assemble-before-prompt", "after-turn", "maintain", "compact"],
    supports: () => ({ supported: true }),
    start: ({ context, io }) => {
      const run = async (): Promise<HarnessTurnResult> => {
        await context.assemble();
        context.receipt({});
        const content = [{ type: "text" as const, text: answer() }];
        await io.emit({ type: "message", message: { role: "assistant", content, timestamp: Date.now() } });
        return { stopReason: "stop", usage: { input: 0, output: 0, totalTokens: 0 } };
      };
      return { run, continueWith: run };
    },
  };
}
