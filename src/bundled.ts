/**
 * The bundled engines, memories and runtimes, registered as plugins register theirs. Besides `app.ts` the only file that knows
 * them by name; the code of each is loaded by the turn that uses it.
 */
import { agentDir } from "./config/config-paths.ts";
import type { StoreConfig } from "./config/config-types.ts";
import { FolderTrust } from "./config/folder-trust.ts";
import type { BundledProgram, BundledRuntime } from "./config/bundled.ts";
import type { LoadedConfig } from "./config/load-config.ts";
import type { AgentHarness } from "./contract/harness/harness.ts";
import type { Usage } from "./contract/message.ts";
import type { ModelInfo } from "./contract/model.ts";
import type { PluginApi } from "./contract/host/plugin.ts";
import type { ModelGateway } from "./contract/harness/wire.ts";
import type { ProgramDescription, ProgramWrap } from "./contract/harness/wrap.ts";
import { createLegacyEngine } from "./engines/legacy/legacy-engine.ts";
import { registerLossless } from "./engines/lossless/register.ts";
import { answerLimits } from "./model/answer-limits.ts";
import { createFilesMemory } from "./memories/files/files-memory.ts";
import { costOf } from "./model/model-usage.ts";
import { describeModel, resolveModel, servedAt } from "./model/resolve.ts";
import { toPagurusError } from "./contract/errors.ts";
import type { CaptureLog } from "./gateway/capture/capture.ts";
import { captureSettings, type CaptureSettings } from "./gateway/capture/capture-settings.ts";
import { streamModel } from "./model/model-stream.ts";
import type { ModelPart, ModelRequest, ResolvedModel } from "./model/provider-types.ts";
import type { Logger } from "./platform/log.ts";
import { buildMemorySystemPromptAddition } from "./plugin/engine-frame.ts";
import { pluginState } from "./plugin/listed.ts";
import type { PluginRegistry } from "./plugin/registry.ts";
import { createAcpHarness } from "./runtimes/acp/acp-harness.ts";
import { readAcpSettings } from "./runtimes/acp/acp-settings.ts";
import { createClaudeHarness, readClaudeSettings } from "./runtimes/claude/claude-harness.ts";
import { createCodexHarness, readCodexSettings } from "./runtimes/codex/codex-harness.ts";
import { createEmbeddedHarness } from "./runtimes/embedded/embedded-harness.ts";
import type { AgentHostOptions } from "./turn/agent-host.ts";

export interface BundledOptions {
  loaded: LoadedConfig;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  /** Trust of every folder, for this host. */
  trustFolders?: boolean | undefined;
}

export async function registerBundled(
  registry: PluginRegistry,
  { loaded, home, env, logger, trustFolders }: BundledOptions,
): Promise<void> {
  const { config } = loaded;
  const trust = new FolderTrust({ home, folders: config.trust?.folders, all: trustFolders });
  const bundled = { bundled: true };
  const kept = captureSettings(config, env);
  const capture = kept && openCapture(kept, { home, logger });
  const register = (api: PluginApi): void => {
    api.registerContextEngine("legacy", () => createLegacyEngine());
    registerLossless(api, {
      selected: loaded.contextEngine,
      agentDir: (agentId) => agentDir(home, agentId),
      memorySection: buildMemorySystemPromptAddition,
    });
    api.registerMemory("files", ({ workspaceDir }) => createFilesMemory({ workspaceDir }));
    const limits = answerLimits(config);
    api.registerAgentHarness(
      createEmbeddedHarness((model, request) => {
        const call = { model: resolveModel(model.ref, config, env), request: { ...request, limits } };
        return capture ? captured(capture, call) : streamModel(call.model, call.request);
      }),
    );
  };
  await registry.register("pagurus", register, bundled);
  /** A user who disables a runtime's plugin, in any way, has no runtime of that name. */
  const runtime = async (
    id: BundledRuntime,
    make: (settings: PluginApi["pluginConfig"]) => AgentHarness,
  ): Promise<void> => {
    const register = (api: PluginApi): void => {
      if (pluginState(config, id, "linked") === "enabled") api.registerAgentHarness(make(api.pluginConfig));
    };
    await registry.register(id, register, bundled);
  };
  const shared = {
    env,
    passedOn: config.agents?.defaults?.permission?.shellEnv,
    home,
    endpoint: (model: ModelInfo) => servedAt(model, config, env),
    gateway: modelGateway({ loaded, home, env, logger }, capture),
    log: logger,
    trusts: (cwd: string) => trust.isTrusted(cwd),
  };
  await runtime("codex", (settings) => createCodexHarness({ ...readCodexSettings(settings), ...shared }));
  await runtime("claude-cli", (settings) =>
    createClaudeHarness({ ...readClaudeSettings(settings), ...shared }),
  );
  const costs = (ref: string, usage: Usage): number | undefined => {
    try {
      const { cost } = describeModel(ref, config);
      return cost && costOf(usage, cost);
    } catch {
      // A model that only the agent knows.
      return undefined;
    }
  };
  await runtime("acp", (settings) =>
    createAcpHarness({ ...readAcpSettings(settings), ...shared, costOf: costs }),
  );
}

/** The log of captured requests, opened at first use. */
type Capture = () => Promise<CaptureLog>;

function openCapture(
  kept: CaptureSettings,
  { home, logger }: Pick<BundledOptions, "home" | "logger">,
): Capture {
  let made: Promise<CaptureLog> | undefined;
  const make = async (): Promise<CaptureLog> => {
    const { CaptureLog } = await import("./gateway/capture/capture.ts");
    return new CaptureLog({ ...kept, home, logger });
  };
  return () => (made ??= make());
}

/** A call of the embedded runtime whose requests are captured. */
async function* captured(
  capture: Capture,
  { model, request }: { model: ResolvedModel; request: ModelRequest },
): AsyncGenerator<ModelPart> {
  const { observeCall } = await import("./gateway/capture/observe-call.ts");
  const observer = observeCall(await capture(), model.info, request.owner);
  let failure: string | undefined;
  try {
    yield* streamModel(model, { ...request, observer });
  } catch (error) {
    failure = toPagurusError(error).message;
    throw error;
  } finally {
    await observer?.ended(failure);
  }
}

/** Shared by all runtimes of a host, created at first use; its server ends with its last route. */
function modelGateway(
  { loaded, env, logger }: BundledOptions,
  capture: Capture | undefined,
): () => Promise<ModelGateway> {
  const { config } = loaded;
  const make = async (): Promise<ModelGateway> => {
    const { createModelGateway } = await import("./gateway/gateway.ts");
    return createModelGateway({
      logger,
      resolve: (ref) => resolveModel(ref, config, env),
      capture: await capture?.(),
    });
  };
  let made: Promise<ModelGateway> | undefined;
  return () => (made ??= make());
}

/** The programs of `pagurus wire`: each wrap points one to the model gateway. */
const PROGRAMS: Readonly<Record<BundledProgram, () => Promise<ProgramWrap>>> = {
  codex: async () => (await import("./runtimes/codex/wire/codex-wrap.ts")).codexWrap,
  claude: async () => (await import("./runtimes/claude/claude-wrap.ts")).claudeWrap,
  copilot: async () => (await import("./programs/copilot.ts")).copilotWrap,
  opencode: async () => (await import("./programs/opencode.ts")).opencodeWrap,
  gemini: async () => (await import("./programs/gemini.ts")).geminiWrap,
  qwen: async () => (await import("./programs/qwen.ts")).qwenWrap,
  pi: async () => (await import("./programs/pi.ts")).piWrap,
  goose: async () => (await import("./programs/goose.ts")).gooseWrap,
};

/** The wrap of a bundled program. */
export async function loadProgramWrap(id: BundledProgram): Promise<ProgramWrap> {
  return PROGRAMS[id]();
}

/** The wrap of a program that its user describes. */
export async function describeProgram(
  command: string,
  description: ProgramDescription,
): Promise<ProgramWrap> {
  return (await import("./programs/described-program.ts")).describedWrap(command, description);
}

/** Serves a set of tools over MCP; loads the library at the first connection. */
export async function loadToolServer(): Promise<typeof import("./mcp/serve/serve-tools.ts").serveTools> {
  return (await import("./mcp/serve/serve-tools.ts")).serveTools;
}

/** Opens the sessions of agents where the configuration names a database. Throws `config_invalid`. */
export async function sharedStores(
  store: StoreConfig,
  env: BundledOptions["env"],
): Promise<AgentHostOptions["openStore"]> {
  if (store.kind !== "postgres") return undefined;
  const { postgresStores } = await import("./stores/postgres/postgres-store.ts");
  return postgresStores(store, env);
}

/** Erases deleted sessions from the store of the engine `lossless`, whichever engine is in the slot. */
export async function eraseFromLossless(agentDir: string, sessionIds: readonly string[]): Promise<void> {
  const { forgetSessions } = await import("./engines/lossless/command/forget.ts");
  await forgetSessions(agentDir, sessionIds);
}
