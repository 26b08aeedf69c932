/** The `codex` runtime: turns that the real `codex app-server` executes, under the context engine of the host. */
import { join } from "node:path";
import type { AgentHarness } from "../../contract/harness.ts";
import { HARNESS_CONTRACT } from "../../contract/version.ts";
import type { AppServers } from "./app-server.ts";
import type { CodexOptions } from "./options.ts";
import type { TurnRunner } from "./run-turn.ts";

/** `plugins.entries.codex.config`; what is not understood is left at its default. */
export function readCodexSettings(config: unknown): Pick<CodexOptions, "command" | "sandbox"> {
  const { command, sandbox } = (config ?? {}) as { command?: unknown; sandbox?: unknown };
  return {
    ...(typeof command === "string" && command !== "" ? { command } : {}),
    ...(sandbox === "workspace-write" || sandbox === "danger-full-access" ? { sandbox } : {}),
  };
}

/** Tools of the host for which Codex has its own. */
const NATIVE_TOOLS = ["read", "write", "edit", "glob", "search", "shell"];

interface Loaded {
  servers: AppServers;
  runner: TurnRunner;
}

/** At the first turn: a host that never runs Codex loads none of it. */
async function load(options: CodexOptions): Promise<Loaded> {
  const { env, command, log } = options;
  const [{ AppServers: Servers }, { CatalogFiles }, { TurnRunner: Runner }] = await Promise.all([
    import("./app-server.ts"),
    import("./catalog.ts"),
    import("./run-turn.ts"),
  ]);
  const servers = new Servers({
    env,
    command,
    clientVersion: HARNESS_CONTRACT,
    warn: (sentence, details = {}) => log.warn("codex app-server", { ...details, sentence }),
  });
  const catalogs = new CatalogFiles(join(options.home, "runtimes", "codex"), () => {
    const found = servers.find();
    return "reason" in found ? { command: "codex", args: [], env } : { ...found, env };
  });
  return { servers, runner: new Runner({ ...options, servers, catalogs }) };
}

export function createCodexHarness(options: CodexOptions): AgentHarness {
  let loaded: Promise<Loaded> | undefined;
  return {
    id: "codex",
    label: "Codex app-server",
    contract: HARNESS_CONTRACT,
    execution: { kind: "child-process", detail: "codex app-server" },
    seam: "thread",
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
    supports: ({ api, ref }) =>
      api === "openai-responses"
        ? { supported: true }
        : {
            supported: false,
            reason: `Codex speaks the Responses API and ${ref} is served over ${api}.`,
          },
    runTurn: async (turn) => {
      loaded ??= load(options);
      return (await loaded).runner.run(turn);
    },
    // The engine's compaction is an epoch, and an epoch is a thread.
    compact: () =>
      Promise.resolve({
        compacted: false,
        reason: "the next turn begins a new thread from the engine's context",
      }),
    dispose: async () => {
      await (await loaded)?.servers.dispose();
    },
  };
}
