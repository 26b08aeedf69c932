/** A permission question in its place: what will run, and the answers. It is above the input and never under anything. */
import type { Approval, ApprovalAnswer } from "@pagurus/api/types";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../action-state.ts";
import { oneLine, visible } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { allowed } from "../session-events.ts";
import { LineDiff, previewLines } from "./line-diff.tsx";

export function TalkQuestions({ questions }: { questions: readonly Approval[] }) {
  const [first, ...others] = questions;
  return (
    <div class="questions" aria-live="assertive">
      {first ? <Question key={first.id} question={first} more={others.length} /> : null}
    </div>
  );
}

function Question({ question, more }: { question: Approval; more: number }) {
  const { id, tool, summary, preview, rule, similar, form, cwd } = question;
  const [isSaying, setSaying] = useState(false);
  const action = useAction();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Who is typing keeps the input; who is not can answer at once.
    const { activeElement } = document;
    const isTyping = activeElement instanceof HTMLTextAreaElement && activeElement.value !== "";
    // The card and no button of it: a key that was meant for the input answers nothing.
    if (!isTyping) box.current?.focus({ preventScroll: true });
  }, []);
  const answer = (chosen: ApprovalAnswer, why?: string): void =>
    void action.run("Answering …", async () => {
      const isFirst = await server.answer(id, chosen, why === undefined ? {} : { reason: why });
      document.getElementById("message")?.focus();
      return isFirst ? "" : "It was answered elsewhere already.";
    });
  // What saves a rule is for the administrator alone; the server refuses it for others.
  const saves = allowed.value === "admin" && !form;
  return (
    <div class="question-card" role="group" tabIndex={-1} aria-labelledby={`question-${id}`} ref={box}>
      <div class="question-words">
        <h2 id={`question-${id}`}>
          {form ? `A question of ${oneLine(tool)}` : `May it use ${oneLine(tool)}?`}
          {more > 0 ? <span class="count"> and {more} more after it</span> : null}
        </h2>
        <Content summary={summary} preview={preview} />
        <p class="facts-line">
          in <span dir="ltr">{oneLine(cwd)}</span>
        </p>
      </div>
      {isSaying ? (
        <WhyNot isBusy={action.isBusy} onSay={(why) => answer("deny", why)} onBack={() => setSaying(false)} />
      ) : (
        <div class="question-answers">
          <button type="button" class="primary" disabled={action.isBusy} onClick={() => answer("once")}>
            {form ? "Send what is shown" : "Allow once"}
          </button>
          {saves && rule !== undefined ? (
            <button type="button" disabled={action.isBusy} title={rule} onClick={() => answer("always")}>
              Always allow <code>{oneLine(rule)}</code>
            </button>
          ) : null}
          {saves && similar !== undefined ? (
            <button type="button" disabled={action.isBusy} title={similar} onClick={() => answer("similar")}>
              Always allow <code>{oneLine(similar)}</code>
            </button>
          ) : null}
          <button type="button" disabled={action.isBusy} onClick={() => setSaying(true)}>
            No, and say why
          </button>
        </div>
      )}
      {action.text === "" ? null : (
        <p class="facts-line" role="status">
          {visible(action.text)}
        </p>
      )}
    </div>
  );
}

function WhyNot({
  isBusy,
  onSay,
  onBack,
}: {
  isBusy: boolean;
  onSay(why: string | undefined): void;
  onBack(): void;
}) {
  const [reason, setReason] = useState("");
  return (
    <form
      class="question-answers"
      aria-label="Why not"
      onSubmit={(event) => {
        event.preventDefault();
        onSay(reason.trim() === "" ? undefined : reason.trim());
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        onBack();
      }}
    >
      <input
        type="text"
        aria-label="What to do instead"
        placeholder="What to do instead"
        value={reason}
        ref={focusOnce}
        onInput={({ currentTarget }) => setReason(currentTarget.value)}
      />
      <button type="submit" class="primary" disabled={isBusy}>
        Say no
      </button>
    </form>
  );
}

/** The field takes the focus when it appears. */
function focusOnce(field: HTMLInputElement | null): void {
  field?.focus();
}

function Content({ summary, preview }: { summary: string; preview: string | undefined }) {
  const lines = preview === undefined ? undefined : previewLines(preview);
  const isSame = preview?.trim() === summary.trim();
  return (
    <>
      {isSame ? null : (
        <pre class="tool-text" tabIndex={0} aria-label="What it would do" dir="ltr">
          {visible(summary)}
        </pre>
      )}
      {preview === undefined ? null : lines ? (
        <LineDiff changes={[{ path: "", lines }]} />
      ) : (
        <pre class="tool-text" tabIndex={0} aria-label={isSame ? "What it would do" : "In detail"} dir="ltr">
          {visible(preview)}
        </pre>
      )}
    </>
  );
}
