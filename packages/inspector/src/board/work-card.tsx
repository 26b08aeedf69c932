/** Work that runs and work that waits, and questions that wait for an answer. */
import type { Approval, ApprovalAnswer, Work } from "@pagurus/api/types";
import { addressOf } from "../page-route.ts";
import { oneLine, since } from "../plain-text.ts";
import { allowed, mayChat } from "../session-events.ts";
import { server } from "../server-calls.ts";
import { Badge, Card, Choices, Rows, type Choice } from "./card.tsx";
import { usePolled } from "./polled.ts";

const EVERY_MS = 2_000;

function SessionLink({ agent, session }: { agent: string; session: string }) {
  return <a href={addressOf({ page: "session", agent, key: session })}>{oneLine(session)}</a>;
}

export function WorkCard() {
  const { value, error, again } = usePolled((signal) => server.openWork({ signal }), EVERY_MS);
  const running = value?.filter(({ state }) => state !== "waiting").length ?? 0;
  const fact = value && `${running} running, ${value.length - running} waiting`;
  return (
    <Card title="Now" fact={fact} error={error}>
      <Rows
        items={value}
        keyOf={({ id }) => id}
        none="Nothing runs and nothing waits."
        row={(work) => <WorkRow work={work} again={again} />}
      />
    </Card>
  );
}

const KINDS: Readonly<Record<Work["kind"], string>> = {
  turn: "turn",
  compaction: "compaction",
  command: "command of a plugin",
};

function WorkRow({ work, again }: { work: Work; again(): void }) {
  const { id, agent, session, kind, state, origin, postedAt, startedAt } = work;
  const isWaiting = state === "waiting";
  const stop: Choice = isWaiting
    ? {
        label: "Take back",
        name: `Take back the waiting ${KINDS[kind]} of ${session}`,
        run: () => server.withdraw(id),
      }
    : {
        label: "Stop",
        name: `Stop the ${KINDS[kind]} of ${session}`,
        tone: "bad",
        run: () => server.stopWork(id),
      };
  return (
    <div class="entry">
      <div class="entry-words">
        <Badge tone={isWaiting ? "warn" : "good"} text={isWaiting ? "waits" : "runs"} />{" "}
        <SessionLink agent={agent} session={session} />
        <span class="quiet">
          {KINDS[kind]} of {oneLine(agent)}, from {oneLine(origin)}, {since(startedAt ?? postedAt)}
        </span>
      </div>
      {mayChat() ? <Choices of={[stop]} after={again} /> : null}
    </div>
  );
}

export function QuestionsCard() {
  const { value, error, again } = usePolled((signal) => server.approvals({ signal }), EVERY_MS);
  return (
    <Card title="Questions" fact={value && `${value.length} open`} error={error}>
      <Rows
        items={value}
        keyOf={({ id }) => id}
        none="No agent waits for a permission."
        row={(question) => <QuestionRow question={question} again={again} />}
      />
    </Card>
  );
}

function QuestionRow({ question, again }: { question: Approval; again(): void }) {
  const { id, agent, session, tool, summary, rule, form, askedAt } = question;
  const answer = (label: string, given: ApprovalAnswer, tone?: "main"): Choice => ({
    label,
    name: `${label}: ${tool}, ${summary}`,
    ...(tone === undefined ? {} : { tone }),
    run: () => server.answer(id, given),
  });
  const choices = [
    // The values of a form are filled in beside the conversation.
    ...(form ? [] : [answer("Allow once", "once", "main")]),
    ...(rule !== undefined && !form && allowed.value === "admin" ? [answer(`Always ${rule}`, "always")] : []),
    answer("Deny", "deny"),
  ];
  return (
    <div class="entry tall">
      <div class="entry-words">
        <strong>{oneLine(tool)}</strong> <code>{oneLine(summary)}</code>
        <span class="quiet">
          in <SessionLink agent={agent} session={session} />, {since(askedAt)}
        </span>
      </div>
      {mayChat() ? <Choices of={choices} after={again} /> : null}
    </div>
  );
}
