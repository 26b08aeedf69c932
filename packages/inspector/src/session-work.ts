/** The work that runs and waits in the session that is shown, kept up to date by its events. */
import { useEffect, useState } from "preact/hooks";
import type { Approval, Work } from "@pagurus/api/types";
import { onSessionEvent, streams, type SessionPlace } from "./session-events.ts";
import { server } from "./server-calls.ts";

export interface SessionWork {
  /** `elsewhere`: in another program, whose turn is steered and stopped but not interrupted. */
  runs: "no" | "here" | "elsewhere";
  /** Messages and other work after it. */
  waiting: readonly Work[];
  /** Permission questions without an answer. */
  questions: readonly Approval[];
}

const NOTHING: SessionWork = { runs: "no", waiting: [], questions: [] };
/** How often it is looked at, ms: another program's turn has no events here. */
const LOOK_MS = 2_000;
/** Events of one moment are one look, ms. */
const TOGETHER_MS = 20;
const OF_INTEREST = /^(?:work|approval|turn)\./;

async function read({ agent, sessionKey }: SessionPlace, signal: AbortSignal): Promise<SessionWork> {
  const [{ work, runningIn }, approvals] = await Promise.all([
    server.session(sessionKey, { agent, signal }),
    server.approvals({ signal }),
  ]);
  const isRunning = work.some(({ state }) => state === "running");
  return {
    runs: isRunning ? "here" : runningIn ? "elsewhere" : "no",
    waiting: work.filter(({ state }) => state === "waiting"),
    questions: approvals.filter((each) => each.session === sessionKey && each.agent === agent),
  };
}

export function useSessionWork(place: SessionPlace): SessionWork {
  const { agent, sessionKey } = place;
  const [known, setKnown] = useState(NOTHING);
  const begun = streams.value;
  useEffect(() => {
    const { signal, abort } = abortable();
    let planned: number | undefined;
    const look = (): void => {
      planned ??= window.setTimeout(() => {
        planned = undefined;
        read(place, signal).then(
          (found) => !signal.aborted && setKnown(found),
          // A lost server is shown by the line of time.
          () => undefined,
        );
      }, TOGETHER_MS);
    };
    look();
    const timer = setInterval(() => document.visibilityState === "visible" && look(), LOOK_MS);
    const forget = onSessionEvent(({ event }) => OF_INTEREST.test(event.type) && look());
    return () => {
      forget();
      clearInterval(timer);
      clearTimeout(planned);
      abort();
    };
  }, [agent, sessionKey, begun]);
  return known;
}

function abortable(): { signal: AbortSignal; abort(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
