/** Result of the admit stage. */
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { AgentHarness } from "@pagurus/contract/harness/harness";
import type { RuntimeReason } from "@pagurus/contract/harness/runtimes";
import type { RunRequest } from "@pagurus/contract/host/run";
import type { ModelInfo } from "@pagurus/contract/model";
import type { AgentHost } from "../agent/agent-host.ts";
import type { TurnCheckpoint } from "../agent/turn-checkpoints.ts";
import type { CostGate } from "../cost/cost-limits.ts";
import type { Guard } from "../guard/guard.ts";
import type { ReceiptSink } from "../receipts/receipt-sink.ts";
import type { LiveSession } from "../record/live-session.ts";
import type { Recorder } from "../record/record-turn.ts";
import type { TurnChannel } from "./steering-channel.ts";

/** A turn that has passed the admit stage: everything is checked, the session is locked. */
export interface Admitted {
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
  readonly cost: CostGate;
  /** The session had entries before this turn. */
  readonly existed: boolean;
  readonly guard: Guard;
  readonly recorder: Recorder;
  readonly checkpoint: TurnCheckpoint;
  /** Never throws. */
  readonly receipts: ReceiptSink;
  /** The caller: events out, steering in. */
  readonly channel: TurnChannel;
  /** Fires at the caller's abort, and at the turn's deadline. */
  readonly signal: AbortSignal;
  /** Ends the turn with an error of its own, such as its deadline. */
  readonly deadline: AbortController;
}
