/** The list of conversations at the left: by folder and day, with a search, a filter, and what a user does with one. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Session } from "@pagurus/api/types";
import { allHits, allSessions, type Hit } from "../every-agent.ts";
import { errorText } from "../loaded.ts";
import { addressOf, go, pageRoute } from "../page-route.ts";
import { oneLine } from "../plain-text.ts";
import { saveReport } from "../report/save-report.ts";
import { server } from "../server-calls.ts";
import { allowed } from "../session-events.ts";
import { useAction } from "../action-state.ts";
import { groupedSessions, titleOf, type Grouping } from "./conversation-groups.ts";
import { onEvent, startsOf } from "./live-events.ts";
import { RowMenu } from "./row-menu.tsx";

/** Events of one moment are one look, ms. */
const TOGETHER_MS = 300;
/** Words of a search are looked up this long after the last key, ms. */
const TYPED_MS = 180;
const MOST_SHOWN = 300;

/** Names of what changes the list. */
const CHANGES: ReadonlySet<string> = new Set(["work.accepted", "work.started", "work.ended", "turn.started"]);

interface Listed {
  sessions: readonly Session[];
  /** Places with a turn that runs, and with a question that waits. */
  running: ReadonlySet<string>;
  asking: ReadonlySet<string>;
  error: string;
}

const placeId = (agent: string, key: string): string => `${agent} ${key}`;

/** Read again when something begins or ends. */
function useSessions(): Listed & { reload(): void } {
  const [listed, setListed] = useState<Listed>({
    sessions: [],
    running: new Set(),
    asking: new Set(),
    error: "",
  });
  const reload = useRef<() => void>(() => undefined);
  const begun = startsOf();
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let planned: number | undefined;
    const read = async (): Promise<void> => {
      try {
        const [{ items }, { running }, approvals] = await Promise.all([
          allSessions(signal),
          server.status({ signal }),
          server.approvals({ signal }),
        ]);
        setListed({
          sessions: items,
          running: new Set(running.map(({ agent, session }) => placeId(agent, session))),
          asking: new Set(approvals.map(({ agent, session }) => placeId(agent, session))),
          error: "",
        });
      } catch (error) {
        if (!signal.aborted) setListed((known) => ({ ...known, error: errorText(error) }));
      }
    };
    const plan = (): void => {
      planned ??= window.setTimeout(() => {
        planned = undefined;
        void read();
      }, TOGETHER_MS);
    };
    reload.current = () => void read();
    void read();
    const forget = onEvent(
      ({ event }) => (CHANGES.has(event.type) || event.type.startsWith("approval.")) && plan(),
    );
    return () => {
      forget();
      clearTimeout(planned);
      controller.abort();
    };
  }, [begun]);
  return { ...listed, reload: () => reload.current() };
}

export function Conversations({ onChosen }: { onChosen(): void }) {
  const { sessions, running, asking, error, reload } = useSessions();
  const [words, setWords] = useState("");
  const [grouping, setGrouping] = useState<Grouping>("day");
  const groups = useMemo(() => groupedSessions(sessions, grouping, Date.now()), [sessions, grouping]);
  return (
    <>
      <div class="side-tools">
        <input
          type="search"
          class="side-search"
          aria-label="Search conversations"
          placeholder="Search"
          value={words}
          onInput={({ currentTarget }) => setWords(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape" || words === "") return;
            setWords("");
            event.preventDefault();
          }}
        />
        <select
          aria-label="Group by"
          value={grouping}
          onChange={({ currentTarget }) => setGrouping(currentTarget.value === "folder" ? "folder" : "day")}
        >
          <option value="day">By day</option>
          <option value="folder">By folder</option>
        </select>
      </div>
      {error === "" ? null : (
        <p class="side-note" role="status">
          {error}
        </p>
      )}
      <div class="side-list">
        {words.trim() === "" ? (
          <Groups {...{ groups, running, asking, reload, onChosen }} />
        ) : (
          <Found words={words.trim()} sessions={sessions} onChosen={onChosen} />
        )}
      </div>
    </>
  );
}

function Groups({
  groups,
  running,
  asking,
  reload,
  onChosen,
}: {
  groups: ReturnType<typeof groupedSessions>;
  running: ReadonlySet<string>;
  asking: ReadonlySet<string>;
  reload(): void;
  onChosen(): void;
}) {
  const [more, setMore] = useState(MOST_SHOWN);
  if (groups.length === 0) return <p class="side-note">No conversation yet. The first message begins one.</p>;
  let left = more;
  return (
    <>
      {groups.map(({ name, sessions, isFolded }) => {
        const shown = sessions.slice(0, Math.max(0, left));
        left -= isFolded ? 0 : shown.length;
        if (shown.length === 0) return null;
        const rows = (
          <ul>
            {shown.map((session) => {
              const id = placeId(session.agent, session.key);
              const state = asking.has(id) ? "asks" : running.has(id) ? "runs" : undefined;
              return <Row key={id} {...{ session, state, reload, onChosen }} />;
            })}
          </ul>
        );
        return isFolded ? (
          <details key={name} class="side-group">
            <summary>
              {name} <span class="count">{sessions.length}</span>
            </summary>
            {rows}
          </details>
        ) : (
          <section key={name} class="side-group" aria-label={name}>
            <h2>{name}</h2>
            {rows}
          </section>
        );
      })}
      {left < 0 || groups.reduce((sum, { sessions }) => sum + sessions.length, 0) > more ? (
        <button type="button" class="side-more" onClick={() => setMore(more + MOST_SHOWN)}>
          Show more
        </button>
      ) : null}
    </>
  );
}

const STATES = { runs: "a turn runs", asks: "a question waits" } as const;

interface RowProps {
  session: Session;
  state: keyof typeof STATES | undefined;
  reload(): void;
  onChosen(): void;
}

function Row({ session, state, reload, onChosen }: RowProps) {
  const { agent, key } = session;
  const [doing, setDoing] = useState<"rename" | "delete">();
  const saving = useAction();
  const save = (): void =>
    void saving.run("Saving …", async () => {
      await saveReport({ agent, sessionKey: key });
      return "";
    });
  const route = pageRoute.value;
  const isCurrent = route.page === "talk" && route.agent === agent && route.key === key;
  const title = titleOf(session);
  return (
    <li class="side-row" aria-current={isCurrent ? "page" : undefined}>
      <a href={addressOf({ page: "talk", agent, key })} title={title} onClick={onChosen}>
        {state === undefined ? null : (
          <span class="dot" data-state={state} role="img" aria-label={STATES[state]} />
        )}
        <span class="side-title" dir="auto">
          {title}
        </span>
      </a>
      <RowMenu
        title={title}
        onRename={() => setDoing("rename")}
        onSave={save}
        onDelete={allowed.value === "admin" ? () => setDoing("delete") : undefined}
      />
      {saving.text === "" ? null : (
        <p class="side-note" role="status">
          {saving.text}
        </p>
      )}
      {doing === "rename" ? <Rename {...{ session, reload }} onDone={() => setDoing(undefined)} /> : null}
      {doing === "delete" ? <Delete {...{ session, reload }} onDone={() => setDoing(undefined)} /> : null}
    </li>
  );
}

interface DoingProps {
  session: Session;
  reload(): void;
  onDone(): void;
}

function focusOnce(field: HTMLElement | null): void {
  field?.focus();
}

function Rename({ session, reload, onDone }: DoingProps) {
  const [name, setName] = useState(titleOf(session));
  const action = useAction();
  return (
    <form
      class="side-form"
      aria-label="Rename"
      onSubmit={(event) => {
        event.preventDefault();
        void action
          .run("", async () => {
            await server.rename(session.key, name.trim(), { agent: session.agent });
            return "";
          })
          .then((isDone) => {
            if (!isDone) return;
            reload();
            onDone();
          });
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        onDone();
      }}
    >
      <input
        type="text"
        aria-label="New name"
        value={name}
        ref={focusOnce}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      <button type="submit" disabled={action.isBusy || name.trim() === ""}>
        Save
      </button>
      {action.text === "" ? null : <p role="status">{action.text}</p>}
    </form>
  );
}

function Delete({ session, reload, onDone }: DoingProps) {
  const action = useAction();
  const { agent, key } = session;
  return (
    <div class="side-form" role="group" aria-label={`Delete ${titleOf(session)}?`}>
      <p>Delete it for good, with all its words?</p>
      <button
        type="button"
        class="danger"
        disabled={action.isBusy}
        onClick={() =>
          void action
            .run("Deleting …", async () => {
              await server.deleteSession(key, { agent });
              return "";
            })
            .then((isDone) => {
              if (!isDone) return;
              reload();
              onDone();
              const route = pageRoute.value;
              if (route.page === "talk" && route.agent === agent && route.key === key) go({ page: "home" });
            })
        }
      >
        Delete
      </button>
      <button type="button" ref={focusOnce} onClick={onDone}>
        Keep
      </button>
      {action.text === "" ? null : <p role="status">{action.text}</p>}
    </div>
  );
}

function Found({
  words,
  sessions,
  onChosen,
}: {
  words: string;
  sessions: readonly Session[];
  onChosen(): void;
}) {
  const [hits, setHits] = useState<{ of: string; items: readonly Hit[]; error: string }>();
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      allHits(words, controller.signal).then(
        ({ items }) => setHits({ of: words, items, error: "" }),
        (error: unknown) =>
          !controller.signal.aborted && setHits({ of: words, items: [], error: errorText(error) }),
      );
    }, TYPED_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [words]);
  const lower = words.toLowerCase();
  const named = sessions.filter((session) => titleOf(session).toLowerCase().includes(lower)).slice(0, 20);
  const titles = new Map(sessions.map((session) => [placeId(session.agent, session.key), titleOf(session)]));
  const items = (hits?.items ?? []).slice(0, 60);
  return (
    <>
      {named.length === 0 ? null : (
        <section class="side-group" aria-label="Names">
          <h2>Names</h2>
          <ul>
            {named.map(({ agent, key, ...rest }) => (
              <li class="side-row" key={placeId(agent, key)}>
                <a href={addressOf({ page: "talk", agent, key })} onClick={onChosen}>
                  <span class="side-title" dir="auto">
                    {titleOf({ key, ...rest })}
                  </span>
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section class="side-group" aria-label="Messages">
        <h2>Messages</h2>
        {hits?.of !== words ? <p class="side-note">Searching …</p> : null}
        {hits !== undefined && hits.error !== "" ? <p class="side-note">{hits.error}</p> : null}
        {hits?.of === words && items.length === 0 ? (
          <p class="side-note">No message has these words.</p>
        ) : null}
        <ul>
          {items.map(({ agent, sessionKey, entryId, snippet }) => (
            <li class="side-row hit" key={`${agent} ${entryId}`}>
              <a
                href={addressOf({ page: "talk", agent, key: sessionKey, entry: entryId })}
                onClick={onChosen}
              >
                <span class="side-title" dir="auto">
                  {titles.get(placeId(agent, sessionKey)) ?? oneLine(sessionKey)}
                </span>
                <span class="side-snippet" dir="auto">
                  {oneLine(snippet)}
                </span>
              </a>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}
