/** The `claude-cli` runtime: turns that the real Claude Code executes, under the context engine of the host. */
import { PagurusError } from "../../contract/errors.ts";
import type { AgentHarness } from "../../contract/harness.ts";
import { HARNESS_CONTRACT } from "../../contract/version.ts";
import { claudeSupports } from "./claims.ts";
import type { ClaudeOptions } from "./options.ts";
import type { TurnSurroundings } from "./place.ts";
import { CLAUDE_SURFACES } from "./surfaces.ts";
import type { TurnRunner } from "./run-turn.ts";

/** `plugins.entries.claude-cli.config`. Throws `config_invalid` for a value that is none of those it knows. */
export function readClaudeSettings(config: unknown): Pick<ClaudeOptions, "command" | "login" | "context"> {
  const { command, login, context } = (config ?? {}) as Readonly<Record<string, unknown>>;
  if (command !== undefined && (typeof command !== "string" || command === ""))
    throw unknownSetting("command", command, "a path or a name");
  if (login !== undefined && login !== "own") throw unknownSetting("login", login, '"own"');
  if (context !== undefined && context !== "wire") throw unknownSetting("context", context, '"wire"');
  return {
    ...(command === undefined ? {} : { command }),
    ...(login === undefined ? {} : { login }),
    ...(context === undefined ? {} : { context }),
  };
}

function unknownSetting(key: string, value: unknown, known: string): PagurusError {
  const given = typeof value === "string" ? `"${value}"` : `of type ${typeof value}`;
  return new PagurusError(
    "config_invalid",
    `plugins.entries.claude-cli.config.${key} is ${given}; give ${known}.`,
  );
}

/** Tools of the host for which Claude Code has its own. */
const NATIVE_TOOLS = ["read", "write", "edit", "glob", "search", "shell"];

interface Loaded {
  around: TurnSurroundings;
  runner: TurnRunner;
}

/** At the first turn: a host that never runs Claude Code loads none of it. */
async function load(options: ClaudeOptions): Promise<Loaded> {
  const [{ TurnRunner: Runner }, { Sessions }] = await Promise.all([
    import("./run-turn.ts"),
    import("./sessions.ts"),
  ]);
  const around = { ...options, sessions: new Sessions(options) };
  return { around, runner: new Runner(around) };
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
    surfaces: CLAUDE_SURFACES,
    supports: claudeSupports(options),
    runTurn: async (turn) => {
      loaded ??= load(options);
      return (await loaded).runner.run(turn);
    },
    keepsContext: true,
    program: async (signal) => {
      const { describeProgram } = await import("./program.ts");
      return describeProgram(options, signal);
    },
    compact: async (binding, request) => {
      loaded ??= load(options);
      const [{ around }, { compactSession }] = await Promise.all([loaded, import("./compact.ts")]);
      return compactSession(binding, request, around);
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
