/** The `embedded` runtime: our own agent loop, in process, with every capability. */
import type { AgentHarness, HarnessTurnResult } from "../../contract/harness/harness.ts";
import { HARNESS_CONTRACT } from "../../contract/version.ts";
import { runLoop, takeUp } from "./agent-loop.ts";
import type { CallModel } from "./embedded-stream.ts";
import { EMBEDDED_SURFACES } from "./embedded-surfaces.ts";

/** `callModel` starts one call of the turn's model. */
export function createEmbeddedHarness(callModel: CallModel): AgentHarness {
  return {
    id: "embedded",
    label: "Pagurus agent loop",
    contract: HARNESS_CONTRACT,
    aliases: ["openclaw", "pi"],
    execution: { kind: "in-process" },
    seam: "embedded",
    capabilities: [
      "bootstrap",
      "assemble-before-prompt",
      "after-turn",
      "maintain",
      "compact",
      "runtime-llm-complete",
      "thread-bootstrap-projection",
    ],
    surfaces: EMBEDDED_SURFACES,
    supports: () => ({ supported: true }),
    start: (turn) => {
      const loop = (): Promise<HarnessTurnResult> => runLoop(turn, callModel);
      return {
        run: async () => (await takeUp(turn)) ?? loop(),
        // The context that the host assembles holds the input that joined.
        continueWith: loop,
      };
    },
  };
}
