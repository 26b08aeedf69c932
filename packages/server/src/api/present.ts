/** Records of the host in the form of the API's answers. */
import type { SessionRecord } from "@pagurus/contract/session/writer";
import type { Approval } from "@pagurus/inbox/approvals";
import type { Inbox } from "@pagurus/inbox/inbox";
import type { Work } from "@pagurus/inbox/work";
import type * as api from "@pagurus/api/types";
import { defined } from "@pagurus/core/data/defined";

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function presentSession(record: SessionRecord, agent: string): api.Session {
  const { sessionKey, sessionId, cwd, createdAt, updatedAt, entryCount, turnCount, bytes } = record;
  return {
    key: sessionKey,
    id: sessionId,
    agent,
    cwd,
    createdAt,
    updatedAt,
    entries: entryCount,
    turns: turnCount ?? 0,
    bytes,
    generation: record.generation,
    ...defined({ name: record.name, title: record.title, folder: record.folder }),
  };
}

/** Longest beginning of a waiting message, in characters. */
const MOST_PROMPT = 20_000;

function workPrompt({ request }: Work): string {
  return "prompt" in request ? request.prompt.slice(0, MOST_PROMPT) : "";
}

export async function presentWork(inbox: Pick<Inbox, "ahead">, work: Work): Promise<api.Work> {
  const { id, sessionKey, agentId, kind, policy, origin, state, startedAt, endedAt } = work;
  return {
    id,
    session: sessionKey,
    agent: agentId,
    kind,
    policy,
    origin,
    state,
    ...defined({ outcome: work.outcome, intoWork: work.intoWork, error: work.error }),
    ...(kind === "turn" && state === "waiting" ? { prompt: workPrompt(work) } : {}),
    ahead: state === "ended" ? 0 : await inbox.ahead(work),
    postedAt: iso(work.postedAt),
    ...(startedAt === undefined ? {} : { startedAt: iso(startedAt) }),
    ...(endedAt === undefined ? {} : { endedAt: iso(endedAt) }),
  };
}

export function presentApproval(approval: Approval): api.Approval {
  const { toolName, summary, preview, rule, similar, form, accept, cwd } = approval.question;
  return {
    id: approval.id,
    work: approval.workId,
    session: approval.sessionKey,
    agent: approval.agentId,
    tool: toolName,
    ...defined({ toolCallId: approval.toolCallId }),
    summary,
    ...defined({ preview, rule, similar, form, accept }),
    cwd,
    askedAt: iso(approval.askedAt),
  };
}
