/** A conversation from its end, the questions of its turn, and the input; without a place a new one. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Session } from "@pagurus/api/types";
import { useAction } from "../action-state.ts";
import { useLoaded } from "../loaded.ts";
import { Notice } from "../notice.tsx";
import { addressOf, go } from "../page-route.ts";
import { oneLine, visible } from "../plain-text.ts";
import { server } from "../server-calls.ts";
import { mayChat } from "../session-events.ts";
import type { Part } from "./attachments.ts";
import { BesideTalk } from "./beside-talk.tsx";
import { TalkComposer, type ComposerHandle } from "./talk-composer.tsx";
import type { UserItem } from "./talk-items.ts";
import { TalkList } from "./talk-list.tsx";
import { TalkQuestions } from "./talk-question.tsx";
import { TalkRow, type RowActions } from "./talk-rows.tsx";
import { Talk, type TalkPlace, type TalkView } from "./talk-state.ts";
import { titleOf } from "./conversation-groups.ts";

/** What of a conversation is in view besides its end. */
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

function useTitle({ agent, key }: TalkPlace, version: string): string {
  const { value } = useLoaded(
    (signal) => server.session(key, { agent, signal }).catch((): Session | undefined => undefined),
    [agent, key, version],
  );
  const known = useRef(oneLine(key));
  if (value) known.current = titleOf(value);
  useEffect(() => {
    document.title = `${known.current} · Pagurus`;
  }, [known.current]);
  return known.current;
}

function Shown({ talk, entry, turn }: InView & { talk: Talk }) {
  const view = talk.view.value;
  const { items, isWhole, error, runs, questions } = view;
  const { place } = talk;
  const composer = useRef<ComposerHandle>(null);
  const action = useAction();
  const title = useTitle(place, `${runs} ${items === undefined || items.length === 0}`);
  useEffect(() => {
    if (entry !== undefined && items !== undefined && !talk.has(entry)) void talk.older(entry);
  }, [entry, items === undefined]);
  const isFree = mayChat() && runs === "no";
  const actions = useMemo((): RowActions => {
    const known = { place, found: entry, inside: turn };
    if (!isFree) return known;
    const again = (item: UserItem): void =>
      void action.run("Going back …", async () => {
        await server.rewind(place.key, item.before ?? null, { agent: place.agent });
        await talk.refresh();
        composer.current?.send(item.text, partsOf(item));
        return "";
      });
    const edit = (item: UserItem): void => composer.current?.edit(item);
    return { ...known, again, edit };
  }, [place, entry, turn, isFree]);
  if (items === undefined && error === "") return <Notice text="Loading the conversation …" />;
  const shown = items ?? [];
  const talked = (
    <main class="talk">
      <header class="talk-head">
        <h1 title={title}>{title}</h1>
        <a class="quiet" href={addressOf({ page: "session", agent: place.agent, key: place.key })}>
          Line of time
        </a>
        <Parent place={place} />
      </header>
      {error === "" ? null : <Notice text={error} />}
      {shown.length === 0 && runs === "no" ? (
        <div class="greeting">
          <h1>What shall we work on?</h1>
        </div>
      ) : (
        <TalkList
          items={shown}
          wanted={entry}
          onStart={() => void talk.older()}
          head={isWhole ? null : <p class="talk-older">Reading older messages …</p>}
          row={(item) => <TalkRow item={item} actions={actions} />}
        />
      )}
      <div class="talk-foot">
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

function partsOf({ attached, images }: UserItem): Part[] {
  return [...attached.map(({ source, text }) => ({ type: "text" as const, text, source })), ...images];
}

/** The way from a subagent's conversation to the one that began it. */
function Parent({ place: { agent, key } }: { place: TalkPlace }) {
  const [, parent] = /^(.+)\/sub-\d+$/.exec(key) ?? [];
  if (parent === undefined) return null;
  return (
    <button type="button" class="quiet" onClick={() => go({ page: "talk", agent, key: parent })}>
      To its parent
    </button>
  );
}

function Doing({ view: { runs, doing, questions, work }, place }: { view: TalkView; place: TalkPlace }) {
  if (runs === "no") return <p class="doing-line column" role="status" />;
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
