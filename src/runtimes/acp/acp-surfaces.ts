import type { RuntimeSurfaces } from "../../contract/harness/runtimes.ts";

/** Support of each surface, as tested on claude-agent-acp 0.100.0 and codex-acp 2.6.0. */
export const ACP_SURFACES: RuntimeSurfaces = {
  modelLoop: "The agent: retries, tool continuation and the final answer are its own.",
  threadHistory:
    "The agent's session, which gets the engine's context as text at its start and what it lacks afterwards; the transcript holds a mirror of every turn. A session is not edited: a new epoch is a new session. On the wire the session is the agent's, and its model is sent the engine's context.",
  hostTools:
    "Yes, over MCP (stdio), for agents that support MCP servers; the agent's own file and shell tools replace read, write, edit, glob, search and shell.",
  hostToolHooks: "Yes, as in embedded.",
  nativeToolHooks:
    "before_tool_call for what the agent requests permission for (which that is, is the agent's choice): it may block, and a rewrite is a block. after_tool_call does not run.",
  compactionData:
    "The agent's own compactions, where it reports them (compaction_update): that they happen, and tokens; not what was dropped. On the wire the engine is asked for the summary.",
  unsupported: [
    "True roles, except on the wire: the context at a session's start is text of a user's message.",
    "Rewriting the arguments of the agent's own tools.",
    "Editing the history of an existing session, or preventing the agent from compacting it.",
    "File system and terminal of the client: they are not offered, agents use their own.",
    "Permission modes other than auto with an agent that never requests permission: such a turn is refused.",
    "Results of tools that the agent does not report: the transcript says so in their place.",
    "How often the agent calls its model is known only from its visible updates.",
  ],
};
