/** State shared by the stages of a turn: the agent's long-lived parts, and the running turn. */
import type { ManifestCache } from "../../tool/changes/change-guard.ts";
import type { AdditionalContext } from "@pagurus/contract/fragment";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { AskPermission } from "@pagurus/contract/host/run";
import type { LlmComplete, ModelInfo } from "@pagurus/contract/model";
import type { PluginFact, PluginTool } from "@pagurus/contract/host/plugin";
import type { SessionStore } from "@pagurus/contract/session/store";
import type { SessionRecord } from "@pagurus/contract/session/writer";
import type { AgentSettings } from "@pagurus/core/config/agent-settings";
import type { FolderTrust } from "@pagurus/core/config/folder-trust";
import type { PagurusConfig, PermissionRule } from "@pagurus/core/config/config-types";
import type { DefaultModel } from "@pagurus/core/model/default-model";
import type { Logger } from "@pagurus/core/platform/log";
import type { SpendLedger } from "../../stores/files/spend/spend-ledger.ts";
import type { Calibration } from "@pagurus/core/tokens/calibration";
import type { EngineSlot } from "../engine/engine-slot.ts";
import type { HookSource } from "../guard/turn-hooks.ts";
import type { TurnInput } from "./turn-mailbox.ts";
import type { BackgroundMaintenance, TrackBackground } from "../engine/engine-maintenance.ts";
import type { MemorySlot } from "./turn-memory.ts";
import type { PluginFailure, RegisteredMiddleware } from "../../plugin/registry.ts";
import type { OuterTools } from "./outer-port.ts";
import type { ReceiptSink } from "../receipts/receipt-sink.ts";
import type { SubagentPort } from "./subagent-port.ts";
import type { TurnCheckpoints } from "./turn-checkpoints.ts";

/** Parts of the user's plugins that turns and reports read, besides the registrations. */
export interface PluginSide {
  readonly facts: readonly PluginFact[];
  /** A sentence per unhandled error of plugin code since the last call. */
  takeErrors(): string[];
  readonly systemEvents: { take(agentId: string, sessionKey: string): AdditionalContext };
}

/** What follows the removal of transcripts in the other places that have words of a session. */
export interface AgentDeletions {
  /** Finishes what a crash left of deletions, before work. Never throws. */
  settle(): Promise<void>;
  /** Finishes every deletion that has begun. Throws `store_write_failed` where something of a session is left, for the next call. */
  finish(): Promise<void>;
  /** Number of sessions of a deletion of this key that was interrupted, and that this process has finished; once. */
  takeFinished(sessionKey: string): number | undefined;
}

/** One agent of the host, for the life of the process. Created by `app.ts`. */
export interface AgentHost {
  readonly agentId: string;
  readonly agentDir: string;
  /** `~/.pagurus`; absolute. */
  readonly home: string;
  readonly config: PagurusConfig;
  readonly settings: AgentSettings;
  /** Whose files may decide something. */
  readonly trust: FolderTrust;
  readonly env: Record<string, string | undefined>;
  readonly logger: Logger;
  readonly store: SessionStore;
  readonly slot: EngineSlot;
  readonly memory: MemorySlot;
  readonly subagents: SubagentPort;
  readonly spend: SpendLedger;
  readonly maintenance: BackgroundMaintenance;
  /** Files of the folders around turns. */
  readonly checkpoints: TurnCheckpoints;
  /** Runs work that no caller waits for, but closing does. Not started while the host closes; a failure is logged. */
  readonly background: TrackBackground;
  readonly hooks: HookSource;
  readonly harnesses: readonly AgentHarness[];
  readonly pluginTools: readonly PluginTool[];
  readonly toolMiddlewares: readonly RegisteredMiddleware[];
  /** Names of the tools of the engine in the slot. */
  readonly engineTools: readonly string[];
  /** Tools of the user's MCP servers. */
  readonly outerTools: OuterTools;
  /** Plugins that should be loaded and are not. */
  readonly pluginFailures: readonly PluginFailure[];
  readonly plugins: PluginSide;
  /** Permission rules that the user has added in this process. */
  readonly remembered: PermissionRule[];
  /** Last looks at the workspaces, for the check after a command. */
  readonly looks: ManifestCache;
  readonly askPermission?: AskPermission | undefined;
  rememberPermission(rule: PermissionRule): Promise<void>;
  /** Default model ref of a run, and its source. */
  defaultModel(): Promise<DefaultModel>;
  /** Throws `model_unknown`, `config_invalid`. */
  modelInfo(ref: string): ModelInfo;
  /** Whether the host could call the model. Throws `credential_missing`, `config_invalid`. */
  checkAccess(ref: string): void;
  /** A completion call bound to a model ref. */
  complete(defaultRef: string): LlmComplete;
  /** Receipt log of a session. */
  receipts(record: SessionRecord): ReceiptSink;
  /** Token calibration of a session and model; `record` is undefined when the session does not exist yet. */
  calibration(record: SessionRecord | undefined, modelRef: string): Calibration;
  /** Sessions opened in this process: id to key. */
  readonly started: Map<string, string>;
  /** Turns that run in this process, by session key. */
  readonly live: Map<string, TurnInput>;
  newTurnId(): string;
  readonly deletions: AgentDeletions;
}
