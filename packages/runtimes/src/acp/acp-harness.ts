/** The `acp` runtime: turns run by an agent that speaks the Agent Client Protocol, under the host's engine. */
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { NativeProgram } from "@pagurus/contract/harness/native";
import type { RuntimeSurfaces, SupportResult } from "@pagurus/contract/harness/runtimes";
import { HARNESS_CONTRACT } from "@pagurus/contract/version";
import { lazyRun, NATIVE_TOOLS, remembered, THREAD_CAPABILITIES } from "../thread/thread-harness.ts";
import { allAgents, configuredAgent, findProgram } from "./agents.ts";
import type { AcpOptions } from "./acp-options.ts";
import type { acpRun } from "./run-acp-turn.ts";
import type { Agents } from "./agent-pool.ts";

/** Support of each surface, as tested on claude-agent-acp 0.101.0 and codex-acp 2.6.0. */
const ACP_SURFACES: RuntimeSurfaces = {
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

interface Loaded {
  agents: Agents;
  run: typeof acpRun;
}

/** Called at the first turn: a host that runs no agent loads no module of it. */
async function load(options: AcpOptions): Promise<Loaded> {
  const [{ Agents: All }, { acpRun: run }] = await Promise.all([
    import("./agent-pool.ts"),
    import("./run-acp-turn.ts"),
  ]);
  const agents = new All({ ...options, clientVersion: HARNESS_CONTRACT });
  return { agents, run };
}

/** Whether any configured or known agent is installed; the one of a turn is checked when it starts. */
function lookFor(options: AcpOptions): () => SupportResult {
  return remembered(() => {
    const agents = allAgents(options);
    if (agents.some((agent) => "command" in findProgram(agent, options.env)))
      return { supported: true, login: "own" };
    const names = agents.map(({ id }) => id).join(", ");
    const reason = `No ACP agent is installed (looked for: ${names}); install one, or set plugins.entries.acp.config.agents.`;
    return { supported: false, reason };
  });
}

/** Seam of the configured agents, when it is the same for all of them. */
function acpSeam({ agents }: AcpOptions): AgentHarness["seam"] {
  const entries = Object.values(agents);
  return entries.length > 0 && entries.every(({ context }) => context === "wire") ? "wire" : "projection";
}

async function describeAgents(options: AcpOptions, signal: AbortSignal | undefined): Promise<NativeProgram> {
  const { describeAgent } = await import("./acp-program.ts");
  return describeAgent(options, signal);
}

export function createAcpHarness(options: AcpOptions): AgentHarness {
  let loaded: Promise<Loaded> | undefined;
  const supports = lookFor(options);
  return {
    id: "acp",
    label: "ACP agents",
    contract: HARNESS_CONTRACT,
    // Chosen by its id alone: an agent is used only when a user selects it.
    family: "cli",
    execution: { kind: "child-process", detail: "an agent of the Agent Client Protocol" },
    seam: acpSeam(options),
    capabilities: THREAD_CAPABILITIES,
    nativeTools: NATIVE_TOOLS,
    surfaces: ACP_SURFACES,
    supports,
    start: (turn) =>
      lazyRun(async () => {
        loaded ??= load(options);
        const { agents, run } = await loaded;
        return run(turn, options, agents);
      }),
    keepsContext: true,
    ...(configuredAgent(options) === undefined
      ? {}
      : { program: (signal) => describeAgents(options, signal) }),
    compact: async (binding, request) => {
      loaded ??= load(options);
      const [{ agents }, { compactAcpSession }] = await Promise.all([loaded, import("./acp-compact.ts")]);
      return compactAcpSession(binding, request, { options, agents });
    },
    reset: async ({ nativeId }) => {
      (await loaded)?.agents.leave(nativeId);
    },
    dispose: async () => {
      await (await loaded)?.agents.dispose();
    },
  };
}
