/** The `embedded` runtime: our own agent loop, in process, with every capability. */
import type { AgentHarness } from "../../contract/harness.ts";
import { HARNESS_CONTRACT } from "../../contract/version.ts";
import { runLoop } from "./loop.ts";
import type { CallModel } from "./stream.ts";
import { EMBEDDED_SURFACES } from "./surfaces.ts";

/** `callModel` starts one call of the model that a turn names. */
export function createEmbeddedHarness(callModel: CallModel): AgentHarness {
  return {
    id: "embedded",
    label: "Pagurus agent loop",
    contract: HARNESS_CONTRACT,
    aliases: ["openclaw", "pi"],
    execution: { kind: "in-process" },
    seam: "native",
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
    runTurn: (turn) => runLoop(turn, callModel),
  };
}
