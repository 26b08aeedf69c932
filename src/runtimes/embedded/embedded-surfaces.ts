import type { RuntimeSurfaces } from "../../contract/harness/runtimes.ts";

/** Support of each surface in the embedded runtime. */
export const EMBEDDED_SURFACES: RuntimeSurfaces = {
  modelLoop: "The host: retries, tool continuation and the final answer are its own loop's.",
  threadHistory: "The host's transcript; nothing else keeps the history.",
  hostTools: "Yes, all of them.",
  hostToolHooks: "Yes: before_tool_call may block and rewrite, after_tool_call sees each outcome.",
  nativeToolHooks: "It has no tools of its own.",
  compactionData: "All: lane, trigger, handler, tokens before and after, first kept entry, the summary.",
  unsupported: [],
};
