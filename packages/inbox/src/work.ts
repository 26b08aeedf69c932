/** Work of the inbox: what a client posted, from its acceptance to its end. */
import type * as api from "@pagurus/api/types";
import type { Authority } from "@pagurus/contract/host/authority";
import type { RunRequest } from "@pagurus/contract/host/run";

export type WorkKind = api.Work["kind"];
/** What happens when a turn runs in the session: wait for it, join it, or end it. */
export type WorkPolicy = api.Work["policy"];
/** `steering`: passed to the turn that runs, whose transcript has it when the work ends. */
export type WorkState = api.Work["state"];
export type WorkOutcome = api.WorkOutcome;

/** A turn's request as it is stored; the session, the id and the signal are the inbox's. */
export type TurnWork = Pick<
  RunRequest,
  | "prompt"
  | "parts"
  | "model"
  | "runtime"
  | "cwd"
  | "permission"
  | "audience"
  | "thinking"
  | "heartbeat"
  | "maxCost"
  | "oneShot"
  | "additionalContext"
>;
export interface CompactionWork {
  focus?: string;
  cwd?: string;
}

/** A command of a plugin. */
export interface CommandWork {
  /** Without the slash. */
  name: string;
  args?: string;
  cwd?: string;
}

/** The session of a piece of work. */
export interface WorkPlace {
  agentId: string;
  sessionKey: string;
}

export interface NewWork extends WorkPlace {
  kind: WorkKind;
  request: TurnWork | CompactionWork | CommandWork;
  policy: WorkPolicy;
  /** Where it came from, such as `api` or `job:<id>`. */
  origin: string;
  /** Who posted it: what it may do when it runs. An idempotency key is unique among the work of its `tokenId`. */
  authority: Authority;
  idempotencyKey?: string | undefined;
}

export interface Work extends NewWork {
  /** Order of acceptance. */
  seq: number;
  /** Also the turn's id. */
  id: string;
  state: WorkState;
  /** The work that this one joined as steering. */
  intoWork?: string;
  /** A host asks the one that runs it to end it. */
  isStopAsked?: true;
  outcome?: WorkOutcome;
  error?: { code: string; message: string };
  /** Milliseconds since the epoch. */
  postedAt: number;
  startedAt?: number;
  endedAt?: number;
}

export interface WorkEnd {
  outcome: WorkOutcome;
  error?: { code: string; message: string } | undefined;
}
