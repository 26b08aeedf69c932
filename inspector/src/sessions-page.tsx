/** The sessions, last used first, and a search over everything in them. */
import { useState } from "preact/hooks";
import type { Session } from "../../src/client/api-types.ts";
import type { PagurusClient } from "../../src/client/index.ts";
import { allPages, useLoaded } from "./loaded.ts";
import { go } from "./page-route.ts";
import { bytes, count, oneLine, time } from "./plain-text.ts";
import { server } from "./server-calls.ts";
import { Notice } from "./notice.tsx";
import { VirtualList } from "./virtual-list.tsx";

type Hit = Awaited<ReturnType<PagurusClient["search"]>>[number];

const PAGE = 1_000;
const AGENT = "main";

async function allSessions(signal: AbortSignal): Promise<Session[]> {
  const keys: (string | undefined)[] = [undefined];
  return allPages(
    async (from) => {
      const { sessions, next } = await server.listSessions({ limit: PAGE, after: keys[from], signal });
      keys.push(next);
      return { items: sessions, ...(next === undefined ? {} : { next: from + 1 }) };
    },
    () => undefined,
  );
}

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
    </form>
  );
}

function SessionList() {
  const { value, error } = useLoaded(allSessions, []);
  if (error !== undefined) return <Notice text={error} />;
  if (!value) return <Notice text="Loading the sessions …" />;
  if (value.length === 0) return <Notice text="There is no session yet. pagurus run begins one." />;
  return (
    <VirtualList
      label="Sessions"
      items={value}
      keyOf={({ key }) => key}
      takesFocus
      onOpen={({ key, agent }) => go({ page: "session", agent, key })}
      row={({ key, name, title, folder, agent, turns, bytes: size, updatedAt }) => (
        <>
          <span class="row-title">{oneLine(name ?? title ?? key)}</span>
          <span class="row-facts">
            {oneLine(folder ?? key)} · {agent} · {count(turns)} turns · {bytes(size)} · {time(updatedAt)}
          </span>
        </>
      )}
    />
  );
}

function HitList({ query }: { query: string }) {
  const { value, error } = useLoaded<Hit[]>(
    (signal) => server.search(query, { limit: 200, signal }),
    [query],
  );
  if (error !== undefined) return <Notice text={error} />;
  if (!value) return <Notice text="Searching …" />;
  if (value.length === 0) return <Notice text="No message has these words." />;
  return (
    <VirtualList
      label="Found messages"
      items={value}
      keyOf={({ sessionId, entryId }) => `${sessionId} ${entryId}`}
      takesFocus
      onOpen={({ sessionKey, entryId }) =>
        go({ page: "session", agent: AGENT, key: sessionKey, entry: entryId })
      }
      row={({ sessionKey, role, snippet, timestamp, onPath }) => (
        <>
          <span class="row-title">{oneLine(snippet)}</span>
          <span class="row-facts">
            {oneLine(sessionKey)} · {role} · {time(timestamp)}
            {onPath ? "" : " · off the path"}
          </span>
        </>
      )}
    />
  );
}
