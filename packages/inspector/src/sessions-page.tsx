/** The sessions, last used first, and a search over everything in them. */
import { useState } from "preact/hooks";
import { allHits, allSessions } from "./every-agent.ts";
import { useLoaded } from "./loaded.ts";
import { addressOf, go } from "./page-route.ts";
import { oneLine, time } from "./plain-text.ts";
import { Notice } from "./notice.tsx";
import { SessionFacts } from "./session-facts.tsx";
import { VirtualList } from "./virtual-list.tsx";

/** A title and two lines of facts, px. */
const ROW = 68;

export function SessionsPage({ query }: { query: string }) {
  return (
    <main class="page">
      <SearchField query={query} />
      {query === "" ? <SessionList /> : <HitList query={query} />}
    </main>
  );
}

function SearchField({ query }: { query: string }) {
  const [words, setWords] = useState(query);
  return (
    <form
      role="search"
      class="search"
      onSubmit={(event) => {
        event.preventDefault();
        go({ page: "sessions", query: words.trim() });
      }}
    >
      <label for="search">Search all sessions</label>
      <input
        id="search"
        type="search"
        value={words}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
      />
      <button type="submit">Search</button>
      <a href={addressOf({ page: "board" })}>Board</a>
    </form>
  );
}

function Problems({ of }: { of: readonly string[] }) {
  return (
    <>
      {of.map((text) => (
        <Notice key={text} text={text} />
      ))}
    </>
  );
}

function SessionList() {
  const { value, error } = useLoaded(allSessions, []);
  if (error !== undefined) return <Notice text={error} />;
  if (!value) return <Notice text="Loading the sessions …" />;
  const { items, problems } = value;
  if (items.length === 0) return <Notice text="There is no session yet. pagurus run begins one." />;
  return (
    <>
      <Problems of={problems} />
      <VirtualList
        label="Sessions"
        items={items}
        keyOf={({ agent, key }) => `${agent} ${key}`}
        rowHeight={ROW}
        takesFocus
        onOpen={({ key, agent }) => go({ page: "session", agent, key })}
        row={(session) => <SessionFacts session={session} />}
      />
    </>
  );
}

function HitList({ query }: { query: string }) {
  const { value, error } = useLoaded((signal) => allHits(query, signal), [query]);
  if (error !== undefined) return <Notice text={error} />;
  if (!value) return <Notice text="Searching …" />;
  const { items, problems } = value;
  if (items.length === 0) return <Notice text="No message has these words." />;
  return (
    <>
      <Problems of={problems} />
      <VirtualList
        label="Found messages"
        items={items}
        keyOf={({ agent, sessionId, entryId }) => `${agent} ${sessionId} ${entryId}`}
        takesFocus
        onOpen={({ agent, sessionKey, sessionId, entryId }) =>
          go({ page: "session", agent, key: sessionKey, entry: entryId, generation: sessionId })
        }
        row={({ agent, sessionKey, role, snippet, timestamp, onPath }) => (
          <>
            <span class="row-title">{oneLine(snippet)}</span>
            <span class="row-facts">
              {oneLine(sessionKey)} · {oneLine(agent)} · {role} · {time(timestamp)}
              {onPath ? "" : " · off the path"}
            </span>
          </>
        )}
      />
    </>
  );
}
