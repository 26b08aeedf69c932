/** The `acp` runtime: turns that an agent executes which speaks the Agent Client Protocol, under the host's engine. */
import type { AgentHarness } from "../../contract/harness.ts";
import type { SupportResult } from "../../contract/runtimes.ts";
import { HARNESS_CONTRACT } from "../../contract/version.ts";
import { allAgents, findProgram } from "./agents.ts";
import type { AcpOptions } from "./options.ts";
import type { TurnRunner } from "./run-turn.ts";
import type { Agents } from "./agent-pool.ts";
import { ACP_SURFACES } from "./surfaces.ts";

/** Tools of the host for which agents have their own. */
const NATIVE_TOOLS = ["read", "write", "edit", "glob", "search", "shell"];
/** How long a look at the machine holds, ms. */
const LOOK_HOLDS_MS = 10_000;

interface Loaded {
  agents: Agents;
  runner: TurnRunner;
}

/** At the first turn: a host that runs no agent loads none of it. */
async function load(options: AcpOptions): Promise<Loaded> {
  const [{ Agents: All }, { TurnRunner: Runner }] = await Promise.all([
    import("./agent-pool.ts"),
    import("./run-turn.ts"),
  ]);
  const agents = new All({ ...options, clientVersion: HARNESS_CONTRACT });
  return { agents, runner: new Runner(options, agents) };
}

/** Whether any agent that a turn could name is here; which one a turn names is seen when it starts. */
function lookFor(options: AcpOptions): () => SupportResult {
  let last: { at: number; answer: SupportResult } | undefined;
  const look = (): SupportResult => {
    const agents = allAgents(options);
    if (agents.some((agent) => "command" in findProgram(agent, options.env)))
      return { supported: true, login: "own" };
    const names = agents.map(({ id }) => id).join(", ");
    const reason = `No ACP agent is installed (looked for: ${names}); install one, or set plugins.entries.acp.config.agents.`;
    return { supported: false, reason };
  };
  return () => {
    const now = performance.now();
    if (!last || now - last.at > LOOK_HOLDS_MS) last = { at: now, answer: look() };
    return last.answer;
  };
}

/** That of the agents that are configured, where it is the same for all of them. */
function seamOf({ agents }: AcpOptions): AgentHarness["seam"] {
  const entries = Object.values(agents);
  return entries.length > 0 && entries.every(({ context }) => context === "wire") ? "wire" : "projection";
}

export function createAcpHarness(options: AcpOptions): AgentHarness {
  let loaded: Promise<Loaded> | undefined;
  const supports = lookFor(options);
  return {
    id: "acp",
    label: "ACP agents",
    contract: HARNESS_CONTRACT,
    // Chosen by its id alone: an agent is used where somebody asks for it.
    family: "cli",
    execution: { kind: "child-process", detail: "an agent of the Agent Client Protocol" },
    seam: seamOf(options),
    capabilities: [
      "bootstrap",
      "assemble-before-prompt",
      "after-turn",
      "maintain",
      "compact",
      "runtime-llm-complete",
      "thread-bootstrap-projection",
    ],
    nativeTools: NATIVE_TOOLS,
    surfaces: ACP_SURFACES,
    supports,
    runTurn: async (turn) => {
      loaded ??= load(options);
      return (await loaded).runner.run(turn);
    },
    keepsContext: true,
    compact: async (binding, request) => {
      loaded ??= load(options);
      const [{ agents }, { compactSession }] = await Promise.all([loaded, import("./compact.ts")]);
      return compactSession(binding, request, { options, agents });
    },
    reset: async ({ nativeId }) => {
      (await loaded)?.agents.leave(nativeId);
    },
    dispose: async () => {
      await (await loaded)?.agents.dispose();
    },
  };
}
