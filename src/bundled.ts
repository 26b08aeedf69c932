/**
 * What the host brings along: engines, memories and runtimes, registered as plugins register theirs. With `app.ts` the
 * only file that knows them by name; the code behind each is loaded by the turn that uses it.
 */
import { agentDir } from "./config/paths.ts";
import type { LoadedConfig } from "./config/load.ts";
import type { AgentHarness } from "./contract/harness.ts";
import type { ModelInfo } from "./contract/model.ts";
import type { PluginApi } from "./contract/plugin.ts";
import type { ModelGateway } from "./contract/wire.ts";
import type { ProgramWrap } from "./contract/wrap.ts";
import { createLegacyEngine } from "./engines/legacy/engine.ts";
import { registerLossless } from "./engines/lossless/register.ts";
import { createFilesMemory } from "./memories/files/memory.ts";
import { resolveModel, servedAt } from "./model/resolve.ts";
import { streamModel } from "./model/stream.ts";
import type { Logger } from "./platform/log.ts";
import { buildMemorySystemPromptAddition } from "./plugin/engine-frame.ts";
import { pluginState } from "./plugin/listed.ts";
import type { PluginRegistry } from "./plugin/registry.ts";
import { createAcpHarness } from "./runtimes/acp/harness.ts";
import { readAcpSettings } from "./runtimes/acp/settings.ts";
import { createClaudeHarness, readClaudeSettings } from "./runtimes/claude/harness.ts";
import { createCodexHarness, readCodexSettings } from "./runtimes/codex/harness.ts";
import { createEmbeddedHarness } from "./runtimes/embedded/harness.ts";

export interface BundledOptions {
  loaded: LoadedConfig;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
}

export async function registerBundled(
  registry: PluginRegistry,
  { loaded, home, env, logger }: BundledOptions,
): Promise<void> {
  const { config } = loaded;
  await registry.register("pagurus", (api) => {
    api.registerContextEngine("legacy", () => createLegacyEngine());
    registerLossless(api, {
      selected: loaded.contextEngine,
      agentDir: (agentId) => agentDir(home, agentId),
      memorySection: buildMemorySystemPromptAddition,
    });
    api.registerMemory("files", ({ workspaceDir }) => createFilesMemory({ workspaceDir }));
    api.registerAgentHarness(
      createEmbeddedHarness((model, request) => streamModel(resolveModel(model.ref, config, env), request)),
    );
  });
  /** A user who turns a runtime's plugin off, in any of the ways to, has no runtime of that name. */
  const runtime = async (
    id: string,
    make: (settings: PluginApi["pluginConfig"]) => AgentHarness,
  ): Promise<void> => {
    await registry.register(id, (api) => {
      if (pluginState(config, id, "linked") === "enabled") api.registerAgentHarness(make(api.pluginConfig));
    });
  };
  const shared = {
    env,
    home,
    endpoint: (model: ModelInfo) => servedAt(model, config, env),
    gateway: modelGateway({ loaded, home, env, logger }),
    log: logger,
  };
  await runtime("codex", (settings) => createCodexHarness({ ...readCodexSettings(settings), ...shared }));
  await runtime("claude-cli", (settings) =>
    createClaudeHarness({ ...readClaudeSettings(settings), ...shared }),
  );
  await runtime("acp", (settings) => createAcpHarness({ ...readAcpSettings(settings), ...shared }));
}

/** One for all runtimes of a host, made when the first asks for it; its server ends with its last route. */
function modelGateway({ loaded, home, env, logger }: BundledOptions): () => Promise<ModelGateway> {
  const { config } = loaded;
  const make = async (): Promise<ModelGateway> => {
    const [{ createModelGateway }, { CaptureLog }, { captureSettings }] = await Promise.all([
      import("./gateway/wire/gateway.ts"),
      import("./gateway/wire/capture/capture.ts"),
      import("./gateway/wire/capture/settings.ts"),
    ]);
    const kept = captureSettings(config, env);
    return createModelGateway({
      logger,
      resolve: (ref) => resolveModel(ref, config, env),
      capture: kept && new CaptureLog({ ...kept, home, logger }),
    });
  };
  let made: Promise<ModelGateway> | undefined;
  return () => (made ??= make());
}

/** How each program that `pagurus wire` runs is pointed to the model gateway. */
export async function loadProgramWraps(): Promise<readonly ProgramWrap[]> {
  const [{ codexWrap }, { claudeWrap }] = await Promise.all([
    import("./runtimes/codex/wrap.ts"),
    import("./runtimes/claude/wrap.ts"),
  ]);
  return [codexWrap, claudeWrap];
}

/** Offers a set of tools over MCP; loads the library at the first connection. */
export async function loadToolServer(): Promise<typeof import("./mcp/serve/serve-tools.ts").serveTools> {
  return (await import("./mcp/serve/serve-tools.ts")).serveTools;
}
