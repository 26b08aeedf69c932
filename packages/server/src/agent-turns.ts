/** Turns that clients of the model API ask an agent for: posted to the inbox like any other, and followed to their end. */
import { PagurusError } from "@pagurus/contract/errors";
import type { TurnEvent, TurnSummary } from "@pagurus/contract/host/events";
import type { PagurusHost } from "@pagurus/contract/host/pagurus-host";
import { allowsSession, beyond, checkAgent } from "@pagurus/core/authority/authority";
import type { Authority } from "@pagurus/contract/host/authority";
import type { Approvals } from "@pagurus/inbox/approvals";
import type { Awaitable } from "@pagurus/inbox/inbox";
import type { Dispatcher } from "@pagurus/inbox/dispatcher";
import type { EventLog } from "@pagurus/inbox/event-log";
import type { AgentQuestion, AgentTurnRequest } from "./model-api/agent-turn.ts";
import { TOKEN_ENDED } from "./model-api/token-ended.ts";

interface Parts {
  host: Pick<PagurusHost, "as">;
  events: EventLog;
  dispatcher: Dispatcher;
  /** What a token allows; undefined for one that is revoked or expired. */
  authorityOf(tokenId: string): Awaitable<Authority | undefined>;
  approvals: Pick<Approvals, "answer">;
  /** How long a permission question waits. Default 300. */
  questionSeconds?: number | undefined;
}

const QUESTION_SECONDS = 300;
const STOPPED = "The turn was stopped before its answer was complete; send the request again.";

/** Ends the turn when the client disconnects, as the API has no other way to stop it. */
export async function* agentTurn(
  { events, dispatcher, host, authorityOf, approvals, questionSeconds = QUESTION_SECONDS }: Parts,
  { owner, sessionKey, agentId, prompt, parts, additionalContext, idempotencyKey, signal }: AgentTurnRequest,
): AsyncGenerator<TurnEvent | AgentQuestion> {
  const authority = await authorityOf(owner);
  if (!authority) throw beyond("ask an agent", "its token is revoked or has expired");
  checkAgent(authority, agentId);
  await host.as(authority).checkInput({ agentId, prompt, parts });
  // A session that the API made for the token is the token's own, whatever its pattern.
  const sessions = allowsSession(authority, sessionKey) ? authority.sessions : sessionKey;
  const { work } = await dispatcher.post({
    agentId,
    sessionKey,
    kind: "turn",
    request: { prompt, ...(parts.length > 0 ? { parts } : {}), additionalContext },
    policy: "queue",
    origin: "model-api",
    authority: { ...authority, sessions },
    idempotencyKey,
  });
  // Where it cannot be stopped now, it ends by itself.
  const onAbort = (): void => void dispatcher.stopWork(work).catch(() => undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  const timers: NodeJS.Timeout[] = [];
  let isOver = false;
  try {
    for await (const { type, data } of events.follow(0, { workId: work.id }, signal)) {
      // One that was stopped completes without the rest of its answer.
      if (type === "work.ended" || isStopped(type, data)) break;
      // The end of its token stopped it.
      if (type === "turn.failed") checkToken(await authorityOf(owner));
      isOver ||= type === "turn.completed" || type === "turn.failed";
      if (type === "approval.asked") {
        const { id, summary } = data as { id: string; summary: string };
        // The client may have no way to answer; the first answer counts, so that one that came before stays.
        const deny = (): void => void refuse(approvals, id, owner);
        const expiresInMs = questionSeconds * 1_000;
        timers.push(setTimeout(deny, expiresInMs));
        yield { type: "agent.question", id, summary, expiresInMs };
      }
      if (!type.startsWith("work.") && !type.startsWith("approval.")) yield { type, ...data } as TurnEvent;
    }
    if (!isOver) {
      checkToken(await authorityOf(owner));
      // Not one whose client has disconnected.
      if (!signal.aborted) throw new PagurusError("turn_aborted", STOPPED);
    }
  } finally {
    for (const timer of timers) clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

function isStopped(type: string, data: unknown): boolean {
  return type === "turn.completed" && (data as TurnSummary).stopReason === "aborted";
}

function checkToken(authority: Authority | undefined): void {
  if (!authority) throw new PagurusError("token_invalid", TOKEN_ENDED);
}

/** A question of a turn that has ended is gone. */
async function refuse(approvals: Pick<Approvals, "answer">, id: string, owner: string): Promise<void> {
  try {
    await approvals.answer(id, "unasked", owner);
  } catch {
    return;
  }
}
