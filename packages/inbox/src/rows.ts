/** Rows of work, events and permission questions, which have the same columns in both databases. */
import type { Authority } from "@pagurus/contract/host/authority";
import type { Approval } from "./approvals.ts";
import type { StoredEvent } from "./event-log.ts";
import type { Work, WorkKind, WorkOutcome, WorkPolicy, WorkState } from "./work.ts";
import { defined } from "@pagurus/core/data/defined";

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
  /** JSON. */
  authority: string;
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
    authority: JSON.parse(row.authority) as Authority,
    ...defined({ idempotencyKey: row.idempotency ?? undefined }),
    state: row.state,
    ...defined({ intoWork: row.into_work ?? undefined, outcome: row.outcome ?? undefined }),
    ...(row.error === null ? {} : { error: JSON.parse(row.error) as NonNullable<Work["error"]> }),
    ...(row.stop_asked ? { isStopAsked: true } : {}),
    postedAt: row.posted,
    ...defined({ startedAt: row.started ?? undefined, endedAt: row.ended ?? undefined }),
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
    ...defined({ toolCallId: row.call ?? undefined }),
    question: JSON.parse(row.question) as Approval["question"],
    askedAt: row.asked,
  };
}
