/** Events of the session that is shown, as one stream for all parts of the page, and what the browser's login may do. */
import { signal } from "@preact/signals";
import type { Scope, ServerEvent } from "@pagurus/api/types";
import { aMoment, isAway, seen, untilHidden } from "./lasting-events.ts";
import { server } from "./server-calls.ts";
import { serverEvents } from "./server-events.ts";

export interface SessionPlace {
  agent: string;
  sessionKey: string;
}

type Listener = (event: ServerEvent) => void;

const listeners = new Set<Listener>();

/** Absent until the server has answered. */
export const allowed = signal<Scope | undefined>(undefined);
/** How many streams were begun: what is read after that and the events from then on have no hole between them. */
export const streams = signal(0);

/** Whether the page may send messages. A server that only reads refuses them anyway. */
export function mayChat(): boolean {
  return allowed.value === "chat" || allowed.value === "admin";
}

/** Calls back with each event until the returned function is called. */
export function onSessionEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Follows a session until the signal fires, for the caller and for all listeners; a server that was away longer than the client tries is
 * tried again. Throws where it refuses, and the signal's reason.
 */
export async function* sessionEvents(place: SessionPlace, abort: AbortSignal): AsyncGenerator<ServerEvent> {
  for (;;) {
    await seen(abort);
    const shown = untilHidden(abort);
    try {
      yield* oneStream(place, shown.signal);
    } catch (error) {
      abort.throwIfAborted();
      if (!shown.signal.aborted && !isAway(error)) throw error;
    } finally {
      shown.end();
    }
    if (document.visibilityState === "visible") await aMoment();
    abort.throwIfAborted();
  }
}

async function* oneStream(
  { agent, sessionKey }: SessionPlace,
  abort: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const { scope, lastEvent: after } = await server.status({ signal: abort });
  allowed.value = scope;
  streams.value += 1;
  for await (const event of serverEvents({ agent, session: sessionKey }, { after, signal: abort })) {
    for (const listener of listeners) listener(event);
    yield event;
  }
}
