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
import { TalkComposer, type ComposerHandle } from "./talk-composer.tsx";
import type { UserItem } from "./talk-items.ts";
import { TalkList } from "./talk-list.tsx";
import { TalkQuestions } from "./talk-question.tsx";
import { TalkRow, type RowActions } from "./talk-rows.tsx";
import { Talk, type TalkPlace, type TalkView } from "./talk-state.ts";
import { titleOf } from "./conversation-groups.ts";

export function TalkPage({ place, entry }: { place?: TalkPlace; entry?: string | undefined }) {
  return place === undefined ? <NewTalk /> : <Conversation place={place} entry={entry} />;
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

function Conversation({ place, entry }: { place: TalkPlace; entry: string | undefined }) {
  const [talk, setTalk] = useState<Talk>();
  useEffect(() => {
    const made = new Talk({ agent: place.agent, key: place.key });
    setTalk(made);
    return () => made.close();
  }, [place.agent, place.key]);
  if (!talk) return <Notice text="Loading the conversation …" />;
  return <Shown talk={talk} entry={entry} />;
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

function Shown({ talk, entry }: { talk: Talk; entry: string | undefined }) {
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
    if (!isFree) return { place, found: entry };
    const again = (item: UserItem): void =>
      void action.run("Going back …", async () => {
        await server.rewind(place.key, item.before ?? null, { agent: place.agent });
        await talk.refresh();
        composer.current?.send(item.text, partsOf(item));
        return "";
      });
    const edit = (item: UserItem): void => composer.current?.edit(item);
    return { place, found: entry, again, edit };
  }, [place, entry, isFree]);
  if (items === undefined && error === "") return <Notice text="Loading the conversation …" />;
  const shown = items ?? [];
  return (
    <main class="talk">
      <header class="talk-head">
        <h1 title={title}>{title}</h1>
        <a class="quiet" href={addressOf({ page: "session", agent: place.agent, key: place.key })}>
          Inspect
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
        <Doing view={view} />
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

function Doing({ view: { runs, doing, questions } }: { view: TalkView }) {
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
    </p>
  );
}
