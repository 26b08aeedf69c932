/** The `claude-cli` runtime: turns run by the real Claude Code, under the host's context engine. */
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { RuntimeSurfaces } from "@pagurus/contract/harness/runtimes";
import { HARNESS_CONTRACT } from "@pagurus/contract/version";
import { lazyRun, NATIVE_TOOLS, THREAD_CAPABILITIES } from "../thread/thread-harness.ts";
import { claudeSupports } from "./claude-claims.ts";
import type { ClaudeOptions } from "./claude-options.ts";
import type { TurnSurroundings } from "./claude-place.ts";
import type { claudeRun } from "./run-claude-turn.ts";

/** Support of each surface, as tested on the version in `version.ts`. */
const CLAUDE_SURFACES: RuntimeSurfaces = {
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

interface Loaded {
  around: TurnSurroundings;
  run: typeof claudeRun;
}

/** Called at the first turn: a host that never runs Claude Code loads no module of it. */
async function load(options: ClaudeOptions): Promise<Loaded> {
  const [{ claudeRun: run }, { Sessions }] = await Promise.all([
    import("./run-claude-turn.ts"),
    import("./claude-sessions.ts"),
  ]);
  const around = { ...options, sessions: new Sessions(options) };
  return { around, run };
}

export function createClaudeHarness(options: ClaudeOptions): AgentHarness {
  let loaded: Promise<Loaded> | undefined;
  return {
    id: "claude-cli",
    label: "Claude Code CLI",
    family: "cli",
    contract: HARNESS_CONTRACT,
    execution: { kind: "child-process", detail: "claude -p" },
    seam: options.context ?? "thread",
    capabilities: THREAD_CAPABILITIES,
    nativeTools: NATIVE_TOOLS,
    surfaces: CLAUDE_SURFACES,
    supports: claudeSupports(options),
    start: (turn) =>
      lazyRun(async () => {
        loaded ??= load(options);
        const { around, run } = await loaded;
        return run(turn, around);
      }),
    keepsContext: true,
    program: async (signal) => {
      const { describeProgram } = await import("./claude-program.ts");
      return describeProgram(options, signal);
    },
    compact: async (binding, request) => {
      loaded ??= load(options);
      const [{ around }, { compactClaudeSession }] = await Promise.all([
        loaded,
        import("./claude-compact.ts"),
      ]);
      return compactClaudeSession(binding, request, around);
    },
    reset: async (binding) => {
      loaded ??= load(options);
      await (await loaded).around.sessions.leave(binding.nativeId);
    },
    dispose: async () => {
      await (await loaded)?.around.sessions.dispose();
    },
  };
}
