/** Turns that clients of the model API ask an agent for: posted to the inbox like any other, and followed to their end. */
import type { TurnEvent } from "../contract/host/events.ts";
import type { Pagurus } from "../contract/host/host.ts";
import type { Dispatcher } from "../inbox/dispatcher.ts";
import type { EventLog } from "../inbox/event-log.ts";
import type { AgentTurnRequest } from "../model-api/agent-turn.ts";

interface Parts {
  pagurus: Pick<Pagurus, "checkInput">;
  events: EventLog;
  dispatcher: Dispatcher;
}

/** Token of this work: the model API has checked the caller's. */
const TOKEN = "model-api";

/** Ends the turn when the client disconnects, as the API has no other way to stop it. */
export async function* agentTurn(
  { events, dispatcher, pagurus }: Parts,
  { sessionKey, agentId, prompt, parts, idempotencyKey, signal }: AgentTurnRequest,
): AsyncGenerator<TurnEvent> {
  await pagurus.checkInput({ agentId, prompt, parts });
  const { work } = await dispatcher.post({
    agentId,
    sessionKey,
    kind: "turn",
    request: { prompt, ...(parts.length > 0 ? { parts } : {}) },
    policy: "queue",
    origin: "model-api",
    tokenId: TOKEN,
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
