/** The `embedded` runtime: our own agent loop, in process, with every capability. */
import type { AgentHarness, HarnessTurnResult } from "@pagurus/contract/harness/harness";
import type { RuntimeSurfaces } from "@pagurus/contract/harness/runtimes";
import { HARNESS_CONTRACT } from "@pagurus/contract/version";
import { runLoop, takeUp } from "./agent-loop.ts";
import type { CallModel } from "./embedded-stream.ts";

/** Support of each surface in the embedded runtime. */
export const EMBEDDED_SURFACES: RuntimeSurfaces = {
  modelLoop: "The host: retries, tool continuation and the final answer are its own loop's.",
  threadHistory: "The host's transcript; nothing else keeps the history.",
  hostTools: "Yes, all of them.",
  hostToolHooks:
    "Yes: before_tool_call may block and rewrite, after_tool_call sees each outcome, and middleware surrounds the tool.",
  nativeToolHooks: "It has no tools of its own.",
  compactionData: "All: lane, trigger, handler, tokens before and after, first kept entry, the summary.",
  unsupported: [],
};

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
