/** Turns that clients of the model API ask an agent for: posted to the inbox like any other, and followed to their end. */
import type { TurnEvent } from "../contract/host/events.ts";
import type { Dispatcher } from "../inbox/dispatcher.ts";
import type { EventLog } from "../inbox/event-log.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { AgentTurnRequest } from "../model-api/agent-turn.ts";

interface Parts {
  inbox: Inbox;
  events: EventLog;
  dispatcher: Dispatcher;
}

/** Token of this work: the model API has checked the caller's. */
const TOKEN = "model-api";

/** Ends the turn when the client disconnects, as the API has no other way to stop it. */
export async function* agentTurn(
  { inbox, events, dispatcher }: Parts,
  { sessionKey, agentId, prompt, parts, idempotencyKey, signal }: AgentTurnRequest,
): AsyncGenerator<TurnEvent> {
  const { work, isNew } = await inbox.post({
    agentId,
    sessionKey,
    kind: "turn",
    request: { prompt, ...(parts.length > 0 ? { parts } : {}) },
    policy: "queue",
    origin: "model-api",
    tokenId: TOKEN,
    idempotencyKey,
  });
  if (isNew) dispatcher.accepted(work);
  const onAbort = (): void => {
    if (dispatcher.runningIn(work)?.id === work.id) dispatcher.stopTurn(work);
    else inbox.withdraw(work.id);
  };
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
