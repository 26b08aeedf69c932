/** Turns that clients of the model API ask an agent for: posted to the inbox like any other, and followed to their end. */
import type { TurnEvent } from "../contract/host/events.ts";
import type { PagurusHost } from "../contract/host/pagurus-host.ts";
import { allowsSession, beyond, checkAgent } from "../authority/authority.ts";
import type { Authority } from "../contract/host/authority.ts";
import type { Awaitable } from "../inbox/inbox.ts";
import type { Dispatcher } from "../inbox/dispatcher.ts";
import type { EventLog } from "../inbox/event-log.ts";
import type { AgentTurnRequest } from "../model-api/agent-turn.ts";

interface Parts {
  host: Pick<PagurusHost, "as">;
  events: EventLog;
  dispatcher: Dispatcher;
  /** What a token allows; undefined for one that is revoked or expired. */
  authorityOf(tokenId: string): Awaitable<Authority | undefined>;
}

/** Ends the turn when the client disconnects, as the API has no other way to stop it. */
export async function* agentTurn(
  { events, dispatcher, host, authorityOf }: Parts,
  { owner, sessionKey, agentId, prompt, parts, idempotencyKey, signal }: AgentTurnRequest,
): AsyncGenerator<TurnEvent> {
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
    request: { prompt, ...(parts.length > 0 ? { parts } : {}) },
    policy: "queue",
    origin: "model-api",
    authority: { ...authority, sessions },
    idempotencyKey,
  });
  // Where it cannot be stopped now, it ends by itself.
  const onAbort = (): void => void dispatcher.stopWork(work).catch(() => undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for await (const { type, data } of events.follow(0, { workId: work.id }, signal)) {
      if (type === "work.ended") return;
      if (!type.startsWith("work.") && !type.startsWith("approval.")) yield { type, ...data } as TurnEvent;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
