/** The `codex` runtime: turns run by the real `codex app-server`, under the host's context engine. */
import { join } from "node:path";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { RuntimeSurfaces } from "@pagurus/contract/harness/runtimes";
import { HARNESS_CONTRACT } from "@pagurus/contract/version";
import { lazyRun, NATIVE_TOOLS, THREAD_CAPABILITIES } from "../thread/thread-harness.ts";
import { codexClaims } from "./codex-claims.ts";
import type { NativeThreads } from "./codex-native-threads.ts";
import type { CodexOptions } from "./codex-options.ts";
import type { TurnSurroundings } from "./codex-place.ts";
import type { codexRun } from "./run-codex-turn.ts";

/** Support of each surface, as tested on the version in `version.ts`. */
const CODEX_SURFACES: RuntimeSurfaces = {
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

interface Loaded {
  around: TurnSurroundings;
  run: typeof codexRun;
}

/** Called at the first turn: a host that never runs Codex loads no module of it. */
async function load(options: CodexOptions): Promise<Loaded> {
  const { env, command, log } = options;
  const [{ AppServers: Servers }, { CatalogFiles }, { codexRun: run }, { Threads }, { WireRoutes }] =
    await Promise.all([
      import("./app-server/app-server.ts"),
      import("./codex-catalog.ts"),
      import("./run-codex-turn.ts"),
      import("./codex-threads.ts"),
      import("./wire/codex-wire.ts"),
    ]);
  const servers = new Servers({
    env,
    passedOn: options.passedOn,
    command,
    clientVersion: HARNESS_CONTRACT,
    warn: (sentence, details = {}) => log.warn("codex app-server", { ...details, sentence }),
  });
  const catalogs = new CatalogFiles(join(options.home, "runtimes", "codex"), () => {
    const found = servers.find();
    return "reason" in found ? { command: "codex", args: [], env } : { ...found, env };
  });
  const routes = new WireRoutes(options.gateway);
  const threads = new Threads((id) => routes.leave(id));
  const around = { ...options, servers, catalogs, threads, routes };
  return { around, run };
}

export function createCodexHarness(options: CodexOptions): AgentHarness {
  let loaded: Promise<Loaded> | undefined;
  const native = async (): Promise<NativeThreads> => {
    loaded ??= load(options);
    const { NativeThreads: Threads } = await import("./codex-native-threads.ts");
    return new Threads((await loaded).around.servers, options.home);
  };
  return {
    id: "codex",
    label: "Codex app-server",
    contract: HARNESS_CONTRACT,
    execution: { kind: "child-process", detail: "codex app-server" },
    seam: options.seam ?? "thread",
    // With the context as text, each turn has a thread of its own.
    capabilities: THREAD_CAPABILITIES.filter(
      (each) => options.seam !== "projection" || each !== "thread-bootstrap-projection",
    ),
    nativeTools: NATIVE_TOOLS,
    nativeSkills: [".agents/skills", ".codex/skills"],
    surfaces: CODEX_SURFACES,
    ...codexClaims(options),
    start: (turn) =>
      lazyRun(async () => {
        loaded ??= load(options);
        const { around, run } = await loaded;
        return run(turn, around);
      }),
    threads: async (filter, signal) => (await native()).list(filter, signal),
    adopt: async (nativeId, signal) => (await native()).adopt(nativeId, signal),
    program: async (signal) => (await native()).program(signal),
    keepsContext: true,
    compact: async (binding, request) => {
      loaded ??= load(options);
      const [{ around }, { compactThread }] = await Promise.all([loaded, import("./codex-compact.ts")]);
      return compactThread(binding, request, around);
    },
    reset: async (binding) => {
      const { isForeignThread } = await import("./codex-thread.ts");
      if (isForeignThread(binding)) return;
      const around = (await loaded)?.around;
      const server = await around?.servers.running();
      if (server) around?.threads.leave(server, binding.nativeId);
    },
    dispose: async () => {
      const around = (await loaded)?.around;
      await around?.servers.dispose();
      await around?.routes.dispose();
    },
  };
}
