/** Actions of a user in a session, below its line of time; nothing for a login that may only read. */
import { Approvals } from "./approvals.tsx";
import { Composer } from "./composer.tsx";
import { LiveAnswer } from "./live-answer.tsx";
import { mayChat, type SessionPlace } from "./session-events.ts";
import { useSessionWork } from "./session-work.ts";
import { WaitingWork } from "./waiting-work.tsx";

export function Doing(place: SessionPlace) {
  return mayChat() ? <DoingPanel {...place} /> : null;
}

function DoingPanel(place: SessionPlace) {
  const work = useSessionWork(place);
  return (
    <section class="doing" aria-label="Doing">
      <LiveAnswer {...place} />
      <Approvals place={place} questions={work.questions} />
      <WaitingWork waiting={work.waiting} />
      <Composer key={`${place.agent} ${place.sessionKey}`} place={place} work={work} />
    </section>
  );
}
