import type { RuntimeSurfaces } from "../../contract/harness/runtimes.ts";

/** Support of each surface, as tested on the version in `version.ts`. */
export const CLAUDE_SURFACES: RuntimeSurfaces = {
  modelLoop: "Claude Code: retries, tool continuation and the final answer are its own.",
  threadHistory:
    "Claude Code's session file, which the host writes for each epoch and has it resume; the transcript holds a mirror of every turn. A session is not edited: another context is another file. On the wire the session is Claude Code's, and its model is sent the engine's context.",
  hostTools:
    "Yes, through an MCP server on stdio; Claude Code's Bash, Read and Edit replace read, write, edit, glob, search and shell.",
  hostToolHooks: "Yes, as in embedded.",
  nativeToolHooks:
    "before_tool_call for every call of its own tools: it may block, and a rewrite is a block. after_tool_call does not run.",
  compactionData:
    "Claude Code's own compactions, which only run when no engine governs: trigger, tokens before and after; not the summary. On the wire the engine is asked for the summary.",
  unsupported: [
    "Rewriting the arguments of Claude Code's own tools.",
    "Editing the history of a running session.",
    "Subagents, skills, plugins, hooks and settings of Claude Code itself.",
  ],
};
