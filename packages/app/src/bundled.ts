/**
 * The bundled engines, memories and runtimes, registered as plugins register theirs. Besides `app.ts`, and `deletions.ts` for
 * their places in the home, the only file that knows them by name; the code of each is loaded by the turn that uses it.
 */
import { defined } from "@pagurus/core/data/defined";
import { agentDir } from "@pagurus/core/config/config-paths";
import type { StoreConfig } from "@pagurus/core/config/config-types";
import { FolderTrust } from "@pagurus/core/config/folder-trust";
import type { BundledProgram, BundledRuntime } from "@pagurus/core/config/bundled";
import type { LoadedConfig } from "@pagurus/core/config/load-config";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { Usage } from "@pagurus/contract/message";
import type { ModelInfo } from "@pagurus/contract/model";
import type { PluginApi } from "@pagurus/contract/host/plugin";
import type { ModelGateway } from "@pagurus/contract/harness/wire";
import type { ProgramDescription, ProgramWrap } from "@pagurus/contract/harness/wrap";
import { createLegacyEngine } from "@pagurus/host/engines/legacy/legacy-engine";
import { registerLossless } from "@pagurus/lossless/register";
import { answerLimits } from "@pagurus/core/model/answer-limits";
import { createFilesMemory } from "@pagurus/host/memories/files/files-memory";
import { costOf } from "@pagurus/core/model/model-usage";
import { describeModel, resolveModel, servedAt } from "@pagurus/core/model/resolve";
import { toPagurusError } from "@pagurus/contract/errors";
import type { CaptureLog } from "@pagurus/gateway/capture/capture";
import { captureSettings, type CaptureSettings } from "@pagurus/gateway/capture/capture-settings";
import { streamModel } from "@pagurus/core/model/model-stream";
import type { ModelPart, ModelRequest, ResolvedModel } from "@pagurus/core/model/provider-types";
import type { Logger } from "@pagurus/core/platform/log";
import { buildMemorySystemPromptAddition } from "@pagurus/host/plugin/engine-frame";
import { pluginState } from "@pagurus/host/plugin/listed";
import type { PluginRegistry } from "@pagurus/host/plugin/registry";
import { createAcpHarness } from "@pagurus/runtimes/acp/acp-harness";
import { createClaudeHarness } from "@pagurus/runtimes/claude/claude-harness";
import { createCodexHarness } from "@pagurus/runtimes/codex/codex-harness";
import { createEmbeddedHarness } from "@pagurus/host/runtimes/embedded/embedded-harness";
import type { AgentHostOptions } from "@pagurus/host/turn/create-agent-host";

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
    registerEngines(api, { selected: loaded.contextEngine, home });
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
  const runtime = async (id: BundledRuntime, make: () => AgentHarness): Promise<void> => {
    const register = (api: PluginApi): void => {
      if (pluginState(config, id, "linked") === "enabled") api.registerAgentHarness(make());
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
  const { codex, "claude-cli": claude, acp } = config.plugins?.entries ?? {};
  await runtime("codex", () => {
    // Unknown keys stay in a configuration, with a warning; only known ones are passed on.
    const { context: seam, command, sandbox, compaction } = codex?.config ?? {};
    return createCodexHarness({ ...defined({ seam, command, sandbox, compaction }), ...shared });
  });
  await runtime("claude-cli", () => {
    const { command, login, context } = claude?.config ?? {};
    return createClaudeHarness({ ...defined({ command, login, context }), ...shared });
  });
  const costs = (ref: string, usage: Usage): number | undefined => {
    try {
      const { cost } = describeModel(ref, config);
      return cost && costOf(usage, cost);
    } catch {
      // A model that only the agent knows.
      return undefined;
    }
  };
  await runtime("acp", () => {
    const { agents = {}, agentId } = acp?.config ?? {};
    return createAcpHarness({ agents, ...defined({ agentId }), ...shared, costOf: costs });
  });
}

/** Registers the bundled engines; tools of the one in the slot alone. */
export function registerEngines(
  api: PluginApi,
  { selected, home }: { selected: string; home: string },
): void {
  api.registerContextEngine("legacy", () => createLegacyEngine());
  registerLossless(api, {
    selected,
    agentDir: (agentId) => agentDir(home, agentId),
    memorySection: buildMemorySystemPromptAddition,
  });
}

/** The log of captured requests, opened at first use. */
type Capture = () => Promise<CaptureLog>;

function openCapture(
  kept: CaptureSettings,
  { home, logger }: Pick<BundledOptions, "home" | "logger">,
): Capture {
  let made: Promise<CaptureLog> | undefined;
  const make = async (): Promise<CaptureLog> => {
    const { CaptureLog } = await import("@pagurus/gateway/capture/capture");
    return new CaptureLog({ ...kept, home, logger });
  };
  return () => (made ??= make());
}

/** A call of the embedded runtime whose requests are captured. */
async function* captured(
  capture: Capture,
  { model, request }: { model: ResolvedModel; request: ModelRequest },
): AsyncGenerator<ModelPart> {
  const { observeCall } = await import("@pagurus/gateway/capture/observe-call");
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
    const { createModelGateway } = await import("@pagurus/gateway/gateway");
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
const PROGRAM_WRAPS: Readonly<Record<BundledProgram, () => Promise<ProgramWrap>>> = {
  codex: async () => (await import("@pagurus/runtimes/codex/wire/codex-wrap")).codexWrap,
  claude: async () => (await import("@pagurus/runtimes/claude/claude-wrap")).claudeWrap,
  copilot: async () => (await import("@pagurus/gateway/programs/copilot")).copilotWrap,
  opencode: async () => (await import("@pagurus/gateway/programs/opencode")).opencodeWrap,
  gemini: async () => (await import("@pagurus/gateway/programs/gemini")).geminiWrap,
  qwen: async () => (await import("@pagurus/gateway/programs/qwen")).qwenWrap,
  pi: async () => (await import("@pagurus/gateway/programs/pi")).piWrap,
  goose: async () => (await import("@pagurus/gateway/programs/goose")).gooseWrap,
};

/** The wrap of a bundled program. */
export async function loadProgramWrap(id: BundledProgram): Promise<ProgramWrap> {
  return PROGRAM_WRAPS[id]();
}

/** The wrap of a program that its user describes. */
export async function describeProgram(
  command: string,
  description: ProgramDescription,
): Promise<ProgramWrap> {
  return (await import("@pagurus/gateway/programs/described-program")).describedWrap(command, description);
}

/** Serves a set of tools over MCP; loads the library at the first connection. */
export async function loadToolServer(): Promise<
  typeof import("@pagurus/host/mcp/serve/serve-tools").serveTools
> {
  return (await import("@pagurus/host/mcp/serve/serve-tools")).serveTools;
}

/** Opens the sessions of agents where the configuration names a database. Throws `config_invalid`. */
export async function sharedStores(
  store: StoreConfig,
  env: BundledOptions["env"],
): Promise<AgentHostOptions["openStore"]> {
  if (store.kind !== "postgres") return undefined;
  const { postgresStores } = await import("@pagurus/postgres/postgres-store");
  return postgresStores(store, env);
}
