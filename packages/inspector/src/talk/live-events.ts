/** Events of all sessions as one stream of the page, for the conversation that is shown and for the list beside it. */
import { signal } from "@preact/signals";
import type { ServerEvent } from "@pagurus/api/types";
import { ClientError } from "@pagurus/client/index";
import { aMoment, seen, untilHidden } from "../lasting-events.ts";
import { errorText } from "../loaded.ts";
import { allowed } from "../session-events.ts";
import { server } from "../server-calls.ts";
import { serverEvents } from "../server-events.ts";

type Listener = (event: ServerEvent) => void;

const listeners = new Set<Listener>();

/** How many streams were begun; what is read after that and the events from then on have no hole between them. */
const begun = signal(0);
/** Changes with each stream; the caller renders again. */
export function startsOf(): number {
  return begun.value;
}

/** A sentence while the server is away; "" otherwise. */
export const away = signal("");

/** Calls back with each event until the returned function is called. */
export function onEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Begins to follow the server; the returned function ends it. */
export function startLive(): () => void {
  const controller = new AbortController();
  void follow(controller.signal);
  return () => controller.abort();
}

async function follow(signal: AbortSignal): Promise<void> {
  let after: number | undefined;
  while (!signal.aborted) {
    await seen(signal).catch(() => undefined);
    const shown = untilHidden(signal);
    try {
      const { scope, lastEvent } = await server.status({ signal: shown.signal });
      allowed.value = scope;
      away.value = "";
      // A server whose events begin again has other ids.
      after = after === undefined || after > lastEvent ? lastEvent : after;
      begun.value += 1;
      if (scope === "read") return;
      for await (const event of serverEvents({ withoutDeltas: true }, { after, signal: shown.signal })) {
        after = event.id;
        away.value = "";
        for (const listener of listeners) listener(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!shown.signal.aborted) away.value = errorText(error);
      if (error instanceof ClientError && error.status === 401) return;
    } finally {
      shown.end();
    }
    if (document.visibilityState === "visible") await aMoment();
  }
}
