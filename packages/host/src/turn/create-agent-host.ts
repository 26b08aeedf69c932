/** One agent of the host, built from its folder, the configuration and what plugins have registered. */
import { agentSettings } from "@pagurus/core/config/agent-settings";
import { SLOT_REASONS } from "@pagurus/core/config/defaults";
import type { LoadedConfig } from "@pagurus/core/config/load-config";
import { FolderTrust } from "@pagurus/core/config/folder-trust";
import { agentDir } from "@pagurus/core/config/config-paths";
import type { PagurusOptions } from "@pagurus/contract/host/host";
import type { LlmComplete, ModelInfo } from "@pagurus/contract/model";
import { RecentMap } from "@pagurus/core/data/recent-map";
import type { DefaultModel } from "@pagurus/core/model/default-model";
import { describeModel, resolveModel } from "@pagurus/core/model/resolve";
import type { Logger } from "@pagurus/core/platform/log";
import type { PluginRegistry } from "../plugin/registry.ts";
import { openReceiptLog, receiptFile } from "../stores/files/receipt-log.ts";
import { SpendLedger } from "../stores/files/spend/spend-ledger.ts";
import type { SessionStore } from "@pagurus/contract/session/store";
import { openSessionStore, type SessionStoreOptions } from "../stores/files/session-store.ts";
import { Calibrations } from "./context/calibrations.ts";
import { EngineSlot } from "./engine/engine-slot.ts";
import { BackgroundMaintenance, type TrackBackground } from "./engine/engine-maintenance.ts";
import { MemorySlot, selectedMemory } from "./agent/turn-memory.ts";
import type { OuterTools } from "./agent/outer-port.ts";
import type { AgentDeletions, AgentHost } from "./agent/agent-host.ts";
import { Subagents } from "./subagents/manager.ts";
import { TurnCheckpoints } from "./agent/turn-checkpoints.ts";
import { currentFolder } from "@pagurus/core/platform/surroundings";

const MOST_RECEIPT_LOGS = 64;

export interface AgentHostOptions {
  agentId: string;
  home: string;
  loaded: LoadedConfig;
  env: Record<string, string | undefined>;
  logger: Logger;
  registry: PluginRegistry;
  outerTools: OuterTools;
  /** Ids of the engines that are part of the package. */
  bundledEngines: ReadonlySet<string>;
  /** What the caller of the host decides. */
  caller: Pick<PagurusOptions, "askPermission" | "trustFolders">;
  defaultModel(): Promise<DefaultModel>;
  complete(defaultRef: string): LlmComplete;
  /** Default: the embedded store. */
  openStore: ((options: SessionStoreOptions) => SessionStore) | undefined;
  loadImporter: NonNullable<SessionStoreOptions["loadImporter"]>;
  newTurnId(): string;
  deletions(agent: AgentHost): AgentDeletions;
  track: TrackBackground;
}

/** Throws `config_invalid` for an agent that is not configured, `store_write_failed`. */
export function createAgentHost(options: AgentHostOptions): AgentHost {
  const { agentId, home, loaded, env, logger, registry, defaultModel } = options;
  const { config } = loaded;
  const settings = agentSettings(config, agentId);
  const folder = agentDir(home, agentId);
  const { openStore = openSessionStore, loadImporter } = options;
  const store = openStore({ agentDir: folder, agentId, logger, loadImporter });
  const modelInfo = (ref: string): ModelInfo => describeModel(ref, config, settings.models);
  const calibrations = new Calibrations({ modelInfo, logger });
  const failures = pluginFailures(registry);
  const trust = new FolderTrust({ home, folders: config.trust?.folders, all: options.caller.trustFolders });
  const host: AgentHost = {
    agentId,
    agentDir: folder,
    home,
    config,
    settings,
    trust,
    env,
    logger,
    store,
    slot: engineSlot(options, { folder, workspace: settings.workspace ?? currentFolder() }, failures),
    memory: memorySlot(options, failures),
    subagents: new Subagents({
      host: () => host,
      runTurn: async (...turn) => (await import("./turn.ts")).runTurn(...turn),
    }),
    spend: new SpendLedger(folder, { shared: store.shared?.spend }),
    maintenance: new BackgroundMaintenance(store, options.track),
    background: options.track,
    checkpoints: new TurnCheckpoints({
      home,
      agentId,
      env,
      config,
      trust,
      logger,
      background: options.track,
    }),
    hooks: registry,
    harnesses: registry.harnesses,
    pluginTools: registry.tools,
    toolMiddlewares: registry.toolMiddlewares,
    engineTools: registry.engineTools(loaded.contextEngine),
    outerTools: options.outerTools,
    pluginFailures: registry.failures,
    plugins: registry,
    remembered: [],
    looks: new Map(),
    askPermission: options.caller.askPermission,
    rememberPermission: async (rule) => {
      const { rememberPermission } = await import("@pagurus/core/config/edit");
      rememberPermission(loaded.file, rule);
    },
    defaultModel: async () =>
      settings.model === undefined ? defaultModel() : { ref: settings.model, source: "configuration" },
    modelInfo,
    checkAccess: (ref) => {
      resolveModel(ref, config, env);
    },
    complete: options.complete,
    receipts: receiptLogs(store),
    calibration: (record, ref) => calibrations.of(record, ref),
    started: new Map(),
    live: new Map(),
    newTurnId: options.newTurnId,
    // Below, as it works with the whole host.
    get deletions() {
      return deletions;
    },
  };
  const deletions = options.deletions(host);
  return host;
}

function pluginFailures(registry: PluginRegistry): string[] {
  return registry.failures.map(({ pluginId, reason }) => `The plugin ${pluginId} failed: ${reason}`);
}

function engineSlot(
  options: AgentHostOptions,
  at: { folder: string; workspace: string },
  failures: readonly string[],
): EngineSlot {
  const { loaded, registry, bundledEngines } = options;
  const { config, contextEngine: id, slotSource } = loaded;
  const registered = registry.engineIds.includes(id);
  const reasons = [...registry.whyLeftOut(id), ...failures];
  return new EngineSlot({
    id,
    source: SLOT_REASONS[slotSource],
    configured: slotSource === "config",
    bundled: bundledEngines.has(id),
    factory: registered ? registry.engine(id) : undefined,
    known: registry.engineIds,
    failure: reasons.length > 0 ? reasons.join(" ") : undefined,
    context: { config, agentDir: at.folder, workspaceDir: at.workspace },
    deadlines: config.agents?.defaults?.engineDeadlines,
  });
}

function memorySlot({ loaded, registry }: AgentHostOptions, failures: readonly string[]): MemorySlot {
  const id = selectedMemory(loaded.config);
  const reasons = [...(id === undefined ? [] : registry.whyLeftOut(id)), ...failures];
  return new MemorySlot({
    id,
    factory: id === undefined ? undefined : registry.memory(id),
    failure: reasons.length > 0 ? reasons.join(" ") : undefined,
    config: loaded.config,
  });
}

/** Caches the logs of recently used sessions: each remembers its newest receipt. */
function receiptLogs({ shared }: SessionStore): AgentHost["receipts"] {
  const kept = new RecentMap<string, ReturnType<typeof openReceiptLog>>(MOST_RECEIPT_LOGS);
  return (record) => {
    const file = receiptFile(record);
    const { sessionId } = record;
    const written =
      shared && ((offset: number, bytes: Uint8Array) => shared.receipts(sessionId, offset, bytes));
    return kept.of(file, () => openReceiptLog({ file, written }));
  };
}
