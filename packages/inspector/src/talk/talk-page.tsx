/** A conversation from its end, the questions of its turn, and the input; without a place a new one. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useLoaded } from "../loaded.ts";
import { Notice } from "../notice.tsx";
import { addressOf } from "../page-route.ts";
import { visible } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { mayChat } from "../session-events.ts";
import { BesideTalk } from "./beside-talk.tsx";
import { LeftVersions } from "./branch-switcher.tsx";
import { useRowActions } from "./row-actions.ts";
import { TalkComposer, type ComposerHandle } from "./talk-composer.tsx";
import { TalkHead } from "./talk-head.tsx";
import { TalkList } from "./talk-list.tsx";
import { TalkQuestions } from "./talk-question.tsx";
import { TalkRow } from "./talk-rows.tsx";
import { Talk, type TalkPlace, type TalkView } from "./talk-state.ts";

/** The parts of a conversation in view besides its end. */
interface InView {
  entry?: string | undefined;
  /** Turn whose inspector is open. */
  turn?: string | undefined;
}

export function TalkPage({ place, ...inView }: InView & { place?: TalkPlace }) {
  return place === undefined ? <NewTalk /> : <Conversation place={place} {...inView} />;
}

function NewTalk() {
  useEffect(() => {
    document.title = "New conversation · Pagurus";
  }, []);
  const { value: agents } = useLoaded((signal) => server.agents({ signal }), []);
  const [agent, setAgent] = useState("main");
  return (
    <main class="talk new">
      <div class="talk-head">
        {(agents?.length ?? 0) > 1 ? (
          <label>
            Agent{" "}
            <select value={agent} onChange={({ currentTarget }) => setAgent(currentTarget.value)}>
              {agents?.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </label>
        ) : null}
      </div>
      <div class="greeting">
        <h1>What shall we work on?</h1>
      </div>
      <TalkComposer key={agent} place={{ agent, key: undefined }} />
    </main>
  );
}

function Conversation({ place, ...inView }: InView & { place: TalkPlace }) {
  const [talk, setTalk] = useState<Talk>();
  useEffect(() => {
    const made = new Talk({ agent: place.agent, key: place.key });
    setTalk(made);
    return () => made.close();
  }, [place.agent, place.key]);
  if (!talk) return <Notice text="Loading the conversation …" />;
  return <Shown talk={talk} {...inView} />;
}

function Shown({ talk, entry, turn }: InView & { talk: Talk }) {
  const view = talk.view.value;
  const { items, isWhole, error, runs, questions, branches } = view;
  const { place } = talk;
  const composer = useRef<ComposerHandle>(null);
  const { actions, action, chosen } = useRowActions({ talk, view, entry, turn, composer });
  useEffect(() => {
    if (entry !== undefined && items !== undefined && !talk.has(entry)) void talk.older(entry);
  }, [entry, items === undefined]);
  if (items === undefined && error === "") return <Notice text="Loading the conversation …" />;
  const shown = items ?? [];
  const talked = (
    <main class="talk">
      <TalkHead place={place} version={`${runs} ${shown.length === 0}`} />
      {error === "" ? null : <Notice text={error} />}
      {shown.length === 0 && runs === "no" ? (
        <div class="greeting">
          <h1>What shall we work on?</h1>
        </div>
      ) : (
        <TalkList
          items={shown}
          wanted={chosen ?? entry}
          onStart={() => void talk.older()}
          head={isWhole ? null : <p class="talk-older">Reading older messages …</p>}
          row={(item) => <TalkRow item={item} actions={actions} />}
        />
      )}
      <div class="talk-foot">
        {branches.after ? <LeftVersions versions={branches.after} onShow={actions.show} /> : null}
        <Doing view={view} place={place} />
        {action.text === "" ? null : (
          <p class="facts-line column" role="status">
            {visible(action.text)}
          </p>
        )}
        <TalkQuestions questions={questions} />
        {mayChat() ? (
          <TalkComposer place={place} view={view} handle={composer} onRewound={() => talk.refresh()} />
        ) : (
          <p class="facts-line column">This login may only read.</p>
        )}
      </div>
    </main>
  );
  return (
    <BesideTalk place={place} turn={turn} version={turn === view.work ? view.steps : runs}>
      {talked}
    </BesideTalk>
  );
}

function Doing({ view: { runs, doing, questions, work }, place }: { view: TalkView; place: TalkPlace }) {
  // For a screen reader: the words of an answer are not read out as they come.
  const wasRunning = useRef(false);
  if (runs !== "no") wasRunning.current = true;
  if (runs === "no")
    return (
      <p class="doing-line column" role="status">
        {wasRunning.current ? <span class="sr-only">The turn has ended.</span> : null}
      </p>
    );
  const text =
    questions.length > 0
      ? "A question waits for you."
      : runs === "elsewhere"
        ? "Another program works in this conversation."
        : doing === ""
          ? "Working …"
          : doing;
  return (
    <p class="doing-line column" role="status">
      <span class="pulse" aria-hidden="true" />
      {visible(text)}
      {work === undefined ? null : (
        <a class="quiet" href={addressOf({ page: "talk", ...place, turn: work })} data-turn={work}>
          Inspect
        </a>
      )}
    </p>
  );
}
