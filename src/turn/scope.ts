/** What the rooms of a turn share: the agent's long-lived parts, and the turn that is under way. */
import type { ContextEngine } from "../contract/engine.ts";
import type { TurnEvent } from "../contract/events.ts";
import type { AgentHarness } from "../contract/harness.ts";
import type { AskPermission, RunRequest } from "../contract/run.ts";
import type { LlmComplete, ModelInfo } from "../contract/model.ts";
import type { RuntimeReason } from "../contract/runtimes.ts";
import type { PluginTool } from "../contract/plugin.ts";
import type { SessionStore } from "../contract/store.ts";
import type { SessionRecord, SessionWriter } from "../contract/writer.ts";
import type { AgentSettings } from "../config/agent.ts";
import type { PagurusConfig, PermissionRule } from "../config/types.ts";
import type { Logger } from "../platform/log.ts";
import type { SpendLedger } from "../session/spend.ts";
import type { Calibration } from "../tokens/calibration.ts";
import type { CostGate } from "./cost.ts";
import type { EngineSlot } from "./engine-slot.ts";
import type { Guard } from "./guard.ts";
import type { HookSource } from "./hooks.ts";
import type { LiveSession } from "./live-session.ts";
import type { TurnInput } from "./mailbox.ts";
import type { BackgroundMaintenance } from "./maintenance.ts";
import type { MemorySlot } from "./memory.ts";
import type { PluginFailure } from "../plugin/registry.ts";
import type { OuterTools } from "./outer-port.ts";
import type { ReceiptSink } from "./receipt-sink.ts";
import type { SubagentPort } from "./subagents/port.ts";

/** One agent of the host, as long as the process lives. Made by `app.ts`. */
export interface AgentHost {
  readonly agentId: string;
  readonly agentDir: string;
  /** `~/.pagurus`; absolute. */
  readonly home: string;
  readonly config: PagurusConfig;
  readonly settings: AgentSettings;
  readonly env: Record<string, string | undefined>;
  readonly logger: Logger;
  readonly store: SessionStore;
  readonly slot: EngineSlot;
  readonly memory: MemorySlot;
  readonly subagents: SubagentPort;
  readonly spend: SpendLedger;
  readonly maintenance: BackgroundMaintenance;
  readonly hooks: HookSource;
  readonly harnesses: readonly AgentHarness[];
  readonly pluginTools: readonly PluginTool[];
  /** Names of those that belong to the engine in the slot. */
  readonly engineTools: readonly string[];
  /** Of the user's MCP servers. */
  readonly outerTools: OuterTools;
  /** Plugins that should be there and are not. */
  readonly pluginFailures: readonly PluginFailure[];
  /** Permission rules that the user has given in this process. */
  readonly remembered: PermissionRule[];
  readonly askPermission?: AskPermission | undefined;
  rememberPermission(rule: PermissionRule): Promise<void>;
  /** Model ref of a run that names none, and where it comes from. */
  defaultModel(): Promise<{ ref: string; source: string }>;
  /** Throws `model_unknown`, `config_invalid`. */
  modelInfo(ref: string): ModelInfo;
  /** Whether the host could call the model. Throws `credential_missing`, `config_invalid`. */
  checkAccess(ref: string): void;
  /** A completion call bound to a model ref. */
  complete(defaultRef: string): LlmComplete;
  /** Receipts of a session. */
  receipts(record: SessionRecord): ReceiptSink;
  /** Correction of token estimates, for a session and model. */
  calibration(sessionId: string, modelRef: string): Calibration;
  /** Sessions opened in this process: id to key. */
  readonly started: Map<string, string>;
  /** Turns that run in this process, by session key. */
  readonly live: Map<string, TurnInput>;
  newTurnId(): string;
}

/** A turn that has passed admission: everything is checked, the session is locked. */
export interface Admission {
  readonly host: AgentHost;
  readonly request: RunRequest;
  readonly sessionKey: string;
  readonly turnId: string;
  readonly cwd: string;
  readonly engine: ContextEngine;
  readonly harness: AgentHarness;
  readonly runtimeReason: RuntimeReason;
  readonly model: ModelInfo;
  readonly session: LiveSession;
  /** The writer of `session`, asked anew each time. */
  readonly writer: SessionWriter;
  readonly cost: CostGate;
  /** The session had entries before this turn. */
  readonly existed: boolean;
  readonly guard: Guard;
  /** Fires at the caller's abort and at the turn's deadline. */
  readonly signal: AbortSignal;
  emit(event: TurnEvent): void;
}
