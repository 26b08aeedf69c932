/** Jobs: prompts at set times, with their next and last run. */
import type { Job } from "@pagurus/api/types";
import { addressOf } from "../page-route.ts";
import { oneLine, since, time, until } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { Badge, Card, Choices, Rows, type Choice, type Tone } from "./card.tsx";
import { usePolled } from "./polled.ts";

const EVERY_MS = 5_000;
const MOST_CHARS = 90;

const OUTCOMES: Readonly<Record<NonNullable<Job["lastOutcome"]>, { text: string; tone: Tone }>> = {
  posted: { text: "ran", tone: "good" },
  unneeded: { text: "nothing to do", tone: "quiet" },
  missed: { text: "missed", tone: "warn" },
  failed: { text: "failed", tone: "bad" },
};

export function JobsCard() {
  const { value, error, again } = usePolled((signal) => server.jobs.list({ signal }), EVERY_MS);
  return (
    <Card title="Jobs" fact={value && `${value.length}`} error={error}>
      <Rows
        items={value}
        keyOf={({ id }) => id}
        none="There is no job. pagurus jobs add makes one."
        row={(job) => <JobRow job={job} again={again} />}
      />
    </Card>
  );
}

interface Times {
  kind?: string;
  expression?: string;
  tz?: string;
  at?: number;
  everyMs?: number;
}

function timesText(times: unknown): string {
  const { kind, expression = "", tz = "", at = 0, everyMs = 0 } = (times ?? {}) as Times;
  if (kind === "cron") return `${expression} (${tz})`;
  if (kind === "at") return time(new Date(at).toISOString());
  const minutes = everyMs / 60_000;
  if (minutes < 1) return `every ${Math.round(everyMs / 1_000)} s`;
  return minutes % 60 === 0 ? `every ${minutes / 60} h` : `every ${Math.round(minutes)} min`;
}

function JobRow({ job, again }: { job: Job; again(): void }) {
  const { id, agent, session, prompt, times, paused, nextAt, lastAt, lastOutcome } = job;
  const words = oneLine(prompt).slice(0, MOST_CHARS);
  const last = lastOutcome && OUTCOMES[lastOutcome];
  const choices: Choice[] = [
    { label: "Run now", name: `Run now: ${words}`, run: () => server.jobs.run(id) },
    paused
      ? { label: "Resume", name: `Resume: ${words}`, run: () => server.jobs.resume(id) }
      : { label: "Pause", name: `Pause: ${words}`, run: () => server.jobs.pause(id) },
    {
      label: "Remove",
      name: `Remove: ${words}`,
      isFinal: true,
      tone: "bad",
      run: () => server.jobs.remove(id),
    },
  ];
  return (
    <div class="entry tall">
      <div class="entry-words">
        {paused ? <Badge tone="warn" text="paused" /> : null} {words}
        <span class="quiet">
          {timesText(times)} · in{" "}
          <a href={addressOf({ page: "session", agent, key: session })}>{oneLine(session)}</a>
          {nextAt === undefined || paused ? "" : ` · next ${until(nextAt)}`}
          {lastAt === undefined ? "" : ` · last ${since(lastAt)}`}{" "}
          {last ? <Badge tone={last.tone} text={last.text} /> : null}
        </span>
      </div>
      <Choices of={choices} after={again} />
    </div>
  );
}
