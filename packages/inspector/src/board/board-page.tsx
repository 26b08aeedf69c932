/** The board: what runs and waits, what it costs, jobs, channels, tokens, connected programs and the health of the host. */
import { useLoaded } from "../loaded.ts";
import { Notice } from "../notice.tsx";
import { allowed } from "../session-events.ts";
import { server } from "../server-calls.ts";
import { ChannelsCard } from "./channels-card.tsx";
import { HealthCard, ProgramsCard } from "./host-cards.tsx";
import { JobsCard } from "./jobs-card.tsx";
import { SpendCard } from "./spend-card.tsx";
import { TokensCard } from "./tokens-card.tsx";
import { QuestionsCard, WorkCard } from "./work-card.tsx";
import "./board.css";

export function BoardPage() {
  const { value, error } = useLoaded(async (signal) => {
    const { scope } = await server.status({ signal });
    allowed.value = scope;
    return scope;
  }, []);
  if (error !== undefined) return <Notice text={error} />;
  if (value === undefined) return <Notice text="Asking the server …" />;
  const isAdmin = value === "admin";
  return (
    <main class="board">
      <h1>Board</h1>
      <div class="cards">
        <WorkCard />
        <QuestionsCard />
        <SpendCard />
        {isAdmin ? (
          <>
            <JobsCard />
            <ChannelsCard />
            <ProgramsCard />
            <TokensCard />
          </>
        ) : null}
        <HealthCard />
      </div>
      {isAdmin ? null : (
        <p class="quiet">
          Jobs, channels, programs and tokens are shown to a login that may administer the server.
        </p>
      )}
    </main>
  );
}
