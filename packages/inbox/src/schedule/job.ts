/** Jobs: prompts that the server posts to its inbox at set times. */
import type * as api from "@pagurus/api/types";
import type { Authority } from "@pagurus/contract/host/authority";
import type { TurnWork } from "../work.ts";

/** When a job is due: a cron expression in a time zone, one moment, or an interval. */
export type JobTimes =
  | { kind: "cron"; expression: string; tz: string }
  /** Milliseconds since the epoch. */
  | { kind: "at"; at: number }
  /** `everyMs` after `from`, again and again; only within the active hours, if any. */
  | { kind: "every"; everyMs: number; from: number; activeHours?: ActiveHours };

/** Hours of a day such as `08:00` to `22:00`; an end before the start is on the next day. */
export interface ActiveHours {
  from: string;
  to: string;
  tz: string;
}

/** What is done for a time that passed while no server ran: nothing, or one run for all such times. */
export type MissedPolicy = api.Job["missed"];

export interface NewJob {
  agentId: string;
  sessionKey: string;
  times: JobTimes;
  missed: MissedPolicy;
  request: TurnWork;
  check?: api.JobCheck | undefined;
  /** Who made it: what its runs may do. Absent: the owner. */
  authority?: Authority | undefined;
  /** Not due before it is resumed. */
  isPaused?: boolean;
}

export interface Job extends NewJob {
  id: string;
  isPaused: boolean;
  /** It was copied into the database of several hosts, and fires there; then it is paused here. */
  isElsewhere?: true;
  /** Milliseconds since the epoch; absent where it is not due again. */
  nextAt?: number;
  /** The last due time, and what came of it. */
  lastAt?: number;
  lastOutcome?: JobOutcome;
  createdAt: number;
}

/** `posted`: it is in the inbox; `unneeded`: its check found nothing to do; `missed`: its policy skipped it. */
export type JobOutcome = NonNullable<api.Job["lastOutcome"]>;
