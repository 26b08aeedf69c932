/** A message to the session, what happens when a turn runs, and the buttons that stop the turn and compact the context. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ServerEvent, Turn } from "@pagurus/api/types";
import { useAction, type Action } from "./action-state.ts";
import { visible } from "./plain-text.ts";
import { onSessionEvent, type SessionPlace } from "./session-events.ts";
import type { SessionWork } from "./session-work.ts";
import { server } from "./server-calls.ts";
import { workReport } from "./work-report.ts";

type Policy = NonNullable<Turn["policy"]>;

const POLICIES: readonly { policy: Policy; label: string }[] = [
  { policy: "queue", label: "Queue: after it" },
  { policy: "steer", label: "Steer: into it" },
  { policy: "interrupt", label: "Interrupt: end it" },
];

interface Message extends SessionPlace {
  text: string;
  policy: Policy;
  runs: SessionWork["runs"];
}

/** Returns what became of it, as a sentence. */
async function send({ agent, sessionKey, text, policy, runs }: Message): Promise<string> {
  if (runs === "elsewhere" && policy === "steer") {
    await server.steer(sessionKey, text, { agent });
    return "Added to the turn of another program.";
  }
  if (runs === "elsewhere" && policy === "interrupt") await server.stop(sessionKey, { agent });
  const work = await server.postTurn(sessionKey, { prompt: text, policy }, { agent });
  if (work.state === "steering") return "Added to the turn before its next model request.";
  return work.ahead > 0 ? "It waits for the work before it." : "";
}

/** What was chosen is gone from the page: the next thing is mostly a message. */
export function focusMessage(): void {
  document.getElementById("message")?.focus();
}

/** The meaning of an event for the user, as a sentence; undefined for one that the page shows otherwise. */
function newsOf({ event }: ServerEvent): string | undefined {
  if (event.type === "work.started") return "";
  if (event.type === "work.waiting") return event.message;
  if (event.type === "turn.completed")
    return event.stopReason === "aborted" ? "The turn was stopped." : "The turn completed.";
  return event.type === "work.ended" ? event.error?.message : undefined;
}

interface News {
  news: string;
  /** Returns "" when an event has come meanwhile: it is newer than the answer to the request that caused it. */
  unlessNews(answer: () => Promise<string>): Promise<string>;
}

/** The words of the events, in place of those of the action. */
function useNews(action: Action): News {
  const [news, setNews] = useState("");
  const count = useRef(0);
  useEffect(
    () =>
      onSessionEvent((event) => {
        const text = newsOf(event);
        if (text === undefined) return;
        count.current += 1;
        setNews(text);
        action.setText("");
      }),
    [],
  );
  const unlessNews = async (answer: () => Promise<string>): Promise<string> => {
    const before = count.current;
    const text = await answer();
    return count.current === before ? text : "";
  };
  return { news, unlessNews };
}

export function Composer({ place, work }: { place: SessionPlace; work: SessionWork }) {
  const { agent, sessionKey } = place;
  const [words, setWords] = useState("");
  const [policy, setPolicy] = useState<Policy>("queue");
  const action = useAction();
  const { news, unlessNews } = useNews(action);
  const isRunning = work.runs !== "no";
  useEffect(() => {
    // The choice was for that turn.
    if (!isRunning) setPolicy("queue");
  }, [isRunning]);
  const submit = async (): Promise<void> => {
    const text = words.trim();
    if (text === "" || action.isBusy) return;
    const message = { ...place, text, policy: isRunning ? policy : "queue", runs: work.runs } as const;
    if (await action.run("Sending …", () => unlessNews(() => send(message)))) setWords("");
  };
  const stop = (): Promise<boolean> =>
    action.run("Stopping …", () =>
      unlessNews(async () => {
        await server.stop(sessionKey, { agent });
        focusMessage();
        return "The turn is being stopped.";
      }),
    );
  const compact = (): Promise<boolean> =>
    action.run("Compacting …", async () => workReport(await server.compact(sessionKey, {}, { agent })));
  return (
    <form
      class="composer"
      aria-label="Message to the session"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <label for="message">Message</label>
      <textarea
        id="message"
        rows={2}
        value={words}
        aria-describedby="message-keys"
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void submit();
        }}
      />
      <div class="bar">
        {isRunning ? <PolicyChoice policy={policy} onChoose={setPolicy} /> : null}
        <button type="submit" disabled={action.isBusy || words.trim() === ""}>
          Send
        </button>
        {isRunning ? (
          <button type="button" onClick={() => void stop()}>
            Stop the turn
          </button>
        ) : null}
        <button type="button" disabled={action.isBusy} onClick={() => void compact()}>
          Compact now
        </button>
        <span id="message-keys" class="keys">
          <kbd>Enter</kbd> sends, <kbd>Shift+Enter</kbd> is a new line
        </span>
      </div>
      <p class="facts" role="status">
        {visible(action.text === "" ? news : action.text)}
      </p>
    </form>
  );
}

function PolicyChoice({ policy, onChoose }: { policy: Policy; onChoose(policy: Policy): void }) {
  return (
    <label>
      While a turn runs{" "}
      <select
        value={policy}
        onChange={({ currentTarget }) =>
          onChoose(POLICIES.find((each) => each.policy === currentTarget.value)?.policy ?? "queue")
        }
      >
        {POLICIES.map((each) => (
          <option key={each.policy} value={each.policy}>
            {each.label}
          </option>
        ))}
      </select>
    </label>
  );
}
