/** Conversations that this page has begun just now: the server has their first turn, and no session until that turn starts. */
import type { ServerEvent } from "@pagurus/api/types";
import { onEvent } from "./live-events.ts";

interface Place {
  agent: string;
  key: string;
}

/** The work of the first turn, by the place. */
const fresh = new Map<string, string>();

function idOf({ agent, key }: Place): string {
  return `${agent} ${key}`;
}

/** With the first turn's start there is a session. */
export function noteEvent({ agent, session, event }: ServerEvent): void {
  if (event.type === "turn.started" || event.type === "work.ended")
    fresh.delete(idOf({ agent, key: session }));
}

onEvent(noteEvent);

export function beginFresh(place: Place, work: string): void {
  fresh.set(idOf(place), work);
}

/** Undefined where the server has a session, which can be asked for. */
export function freshWork(place: Place): string | undefined {
  return fresh.get(idOf(place));
}
