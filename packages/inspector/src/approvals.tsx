/** Permission questions of the session's turns, with their choices, and who answered those of before. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Approval, ApprovalAnswer, WorkEvent } from "@pagurus/api/types";
import { useAction } from "./action-state.ts";
import { focusMessage } from "./composer.tsx";
import { oneLine, visible } from "./plain-text.ts";
import { allowed, onSessionEvent, type SessionPlace } from "./session-events.ts";
import { server } from "./server-calls.ts";

type Answered = Extract<WorkEvent, { type: "approval.answered" }>;

/** Answers that stay on the page. */
const MOST_ANSWERED = 3;

function callerText(id: string): string {
  if (id.startsWith("browser")) return "in a browser of this machine";
  return id === "local" ? "by a command of this machine" : `with the token ${id}`;
}

const ANSWERS: Readonly<Record<ApprovalAnswer, string>> = {
  once: "Allowed once",
  always: "Always allowed",
  similar: "Allowed with similar ones",
  deny: "Denied",
  unasked: "Denied without a person to ask",
};

function answeredText({ answer, by }: Answered, summary: string): string {
  return `${ANSWERS[answer]} ${callerText(by)}: ${summary}`;
}

/** Sentences about the newest answers in the session that is shown, newest last. */
function useAnswered({ agent, sessionKey }: SessionPlace, questions: readonly Approval[]): string[] {
  const [answered, setAnswered] = useState<string[]>([]);
  const summaries = useRef(new Map<string, string>());
  for (const { id, tool, summary } of questions) summaries.current.set(id, `${tool}: ${summary}`);
  useEffect(() => {
    setAnswered([]);
    return onSessionEvent(({ event }) => {
      if (event.type === "approval.asked")
        summaries.current.set(event.id, `${event.toolName}: ${event.summary}`);
      if (event.type !== "approval.answered") return;
      const text = answeredText(event, summaries.current.get(event.id) ?? event.id);
      setAnswered((known) => [...known, text].slice(-MOST_ANSWERED));
    });
  }, [agent, sessionKey]);
  return answered;
}

export function Approvals({ place, questions }: { place: SessionPlace; questions: readonly Approval[] }) {
  const answered = useAnswered(place, questions);
  return (
    <section class="approvals" aria-label="Permission questions" aria-live="polite">
      {answered.map((text, at) => (
        <p class="facts row-facts" key={at}>
          {oneLine(text)}
        </p>
      ))}
      {questions.map((question) => (
        <Question key={question.id} question={question} />
      ))}
    </section>
  );
}

function Question({ question }: { question: Approval }) {
  const { id, tool, summary, preview, rule, similar, form, accept, cwd } = question;
  const [reason, setReason] = useState("");
  const action = useAction();
  const answer = (given: ApprovalAnswer): void => {
    const why = given === "deny" && reason.trim() !== "" ? { reason: reason.trim() } : {};
    const values = given === "once" && accept ? { content: accept.content } : {};
    void action.run("Answering …", async () => {
      const isFirst = await server.answer(id, given, { ...why, ...values });
      focusMessage();
      return isFirst ? "" : "Another client has answered already.";
    });
  };
  const choice = (given: ApprovalAnswer, label: string) => (
    <button type="button" disabled={action.isBusy} onClick={() => answer(given)}>
      {oneLine(label)}
    </button>
  );
  // A preview that is only the summary again is not shown twice.
  const before = preview?.trim() === summary.trim() ? undefined : summary;
  // What saves a rule is for the administrator alone; the server refuses it for others.
  const saves = allowed.value === "admin";
  return (
    <div class="question" role="group" aria-labelledby={`question-${id}`}>
      <p id={`question-${id}`}>
        <strong>
          {form
            ? accept
              ? "A limit is reached:"
              : `A question of ${oneLine(tool)}:`
            : `May it use ${oneLine(tool)}?`}
        </strong>{" "}
        {before === undefined ? null : visible(before)}
      </p>
      <p class="facts">in {oneLine(cwd)}</p>
      {preview === undefined ? null : (
        <pre class="words" tabIndex={0} aria-label="What it would do">
          {visible(preview)}
        </pre>
      )}
      <div class="bar">
        {accept && !saves
          ? null
          : choice("once", accept?.label ?? (form ? "Send what is shown" : "Allow once"))}
        {saves && !form && rule !== undefined ? choice("always", `Always allow ${rule}`) : null}
        {saves && similar !== undefined ? choice("similar", `Always allow ${similar}`) : null}
        {choice("deny", accept ? "Stop" : "Deny")}
        <label>
          Reason{" "}
          <input type="text" value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
        </label>
      </div>
      {action.text === "" ? null : (
        <p class="facts" role="status">
          {visible(action.text)}
        </p>
      )}
    </div>
  );
}
