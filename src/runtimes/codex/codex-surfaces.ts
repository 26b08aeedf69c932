import type { RuntimeSurfaces } from "../../contract/harness/runtimes.ts";

/** Support of each surface, as tested on the version in `version.ts`. */
export const CODEX_SURFACES: RuntimeSurfaces = {
  modelLoop: "Codex: retries, tool continuation and the final answer are its own.",
  threadHistory:
    "Codex's thread, which an engine that names epochs authors at the thread's start; the transcript holds a mirror of every turn. A thread is not edited: a new epoch is a new thread. On the wire the thread is Codex's, and its model is sent the engine's context.",
  hostTools:
    "Yes, as dynamic tools; Codex's own shell and patch tools replace read, write, edit, glob, search and shell.",
  hostToolHooks: "Yes, as in embedded.",
  nativeToolHooks:
    "before_tool_call for what Codex requests permission for (commands that it does not know to be harmless, changes of files): it may block, and a rewrite is a block. after_tool_call does not run.",
  compactionData:
    "Codex's own compactions: that they happen, tokens before and after; not what was dropped, nor the summary. On the wire the engine is asked for the summary.",
  unsupported: [
    "Rewriting the arguments of Codex's own tools.",
    "Editing the history of an existing thread.",
    "Resuming a thread in another process; its history is copied to a new one.",
  ],
};
