/** Rows of work, events and permission questions, which have the same columns in both databases. */
import { earlierWork } from "@pagurus/core/authority/doors";
import type { Authority } from "@pagurus/contract/host/authority";
import type { Approval } from "./approvals.ts";
import type { StoredEvent } from "./event-log.ts";
import type { Work, WorkKind, WorkOutcome, WorkPolicy, WorkState } from "./work.ts";

export interface WorkRow {
  id: string;
  seq: number;
  agent: string;
  session: string;
  kind: WorkKind;
  request: string;
  policy: WorkPolicy;
  origin: string;
  token: string;
  /** JSON; null for work that an earlier version accepted. */
  authority: string | null;
  idempotency: string | null;
  digest: string;
  state: WorkState;
  into_work: string | null;
  outcome: WorkOutcome | null;
  error: string | null;
  posted: number;
  started: number | null;
  ended: number | null;
  /** Where there are other hosts. */
  stop_asked?: boolean;
}

export function workOf(row: WorkRow): Work {
  return {
    seq: row.seq,
    id: row.id,
    agentId: row.agent,
    sessionKey: row.session,
    kind: row.kind,
    request: JSON.parse(row.request) as Work["request"],
    policy: row.policy,
    origin: row.origin,
    authority: row.authority === null ? earlierWork(row) : (JSON.parse(row.authority) as Authority),
    ...(row.idempotency === null ? {} : { idempotencyKey: row.idempotency }),
    state: row.state,
    ...(row.into_work === null ? {} : { intoWork: row.into_work }),
    ...(row.outcome === null ? {} : { outcome: row.outcome }),
    ...(row.error === null ? {} : { error: JSON.parse(row.error) as NonNullable<Work["error"]> }),
    ...(row.stop_asked ? { isStopAsked: true } : {}),
    postedAt: row.posted,
    ...(row.started === null ? {} : { startedAt: row.started }),
    ...(row.ended === null ? {} : { endedAt: row.ended }),
  };
}

export interface EventRow {
  seq: number;
  work: string;
  agent: string;
  session: string;
  type: string;
  data: string;
}

export function eventOf({ seq, work, agent, session, type, data }: EventRow): StoredEvent {
  return {
    seq,
    workId: work,
    agentId: agent,
    sessionKey: session,
    type,
    data: JSON.parse(data) as object,
  };
}

export interface ApprovalRow {
  id: string;
  work: string;
  agent: string;
  session: string;
  call: string | null;
  question: string;
  answer: string | null;
  asked: number;
}

export function approvalOf(row: ApprovalRow): Approval {
  return {
    id: row.id,
    workId: row.work,
    agentId: row.agent,
    sessionKey: row.session,
    ...(row.call === null ? {} : { toolCallId: row.call }),
    question: JSON.parse(row.question) as Approval["question"],
    askedAt: row.asked,
  };
}
