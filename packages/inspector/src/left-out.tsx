/** Entries of the session that a request did not hold, and where each was instead. */
import { useState } from "preact/hooks";
import type { LeftOutEntry, LeftOutSum } from "@pagurus/api/types";
import { CloseButton } from "./close-button.tsx";
import { EntryWords } from "./entry-words.tsx";
import { useLoaded } from "./loaded.ts";
import { Notice } from "./notice.tsx";
import { count } from "@pagurus/core/data/plain-numbers";
import { bytes, oneLine, time, visible } from "./plain-text.ts";
import type { RequestPlace } from "./request-place.ts";
import { server } from "./server-calls.ts";
import { VirtualList } from "./virtual-list.tsx";

const PAGE = 1_000;

interface Answer {
  known: boolean;
  sums: LeftOutSum[];
  entries: LeftOutEntry[];
  total: number;
}

async function allLeftOut(
  { agent, sessionKey, request }: RequestPlace,
  signal: AbortSignal,
): Promise<Answer> {
  const first = await server.inspect.leftOut(sessionKey, request, { agent, limit: PAGE, signal });
  const entries = [...first.entries];
  for (let { next } = first; next !== undefined;) {
    const page = await server.inspect.leftOut(sessionKey, request, {
      agent,
      from: next,
      limit: PAGE,
      signal,
    });
    entries.push(...page.entries);
    next = page.next;
  }
  return { ...first, entries };
}

function placeOf({ where, summaryId, by, trimmed }: LeftOutEntry): string {
  switch (where) {
    case "summarized":
      return summaryId === undefined ? `summarized by ${by ?? "a compaction"}` : `summarized in ${summaryId}`;
    case "obsolete":
      return `obsolete since ${by ?? "a later entry"}`;
    case "trimmed":
      return trimmed ? `trimmed to ${bytes(trimmed.toBytes)}` : "trimmed";
    case "off-path":
      return by === undefined ? "off the path" : `replaced by ${by}`;
    case "evicted":
      return "evicted";
  }
}

export function LeftOut(place: RequestPlace) {
  const { agent, sessionKey, request } = place;
  const [opened, setOpened] = useState<LeftOutEntry>();
  const { value, error } = useLoaded((signal) => allLeftOut(place, signal), [agent, sessionKey, request]);
  if (error !== undefined) return <Notice text={error} />;
  if (!value) return <Notice text="Looking for what was left out …" />;
  if (!value.known)
    return (
      <Notice text="What the request left out is not known: the host has no receipt of it, or it is not a turn's own." />
    );
  if (opened) return <Opened place={place} entry={opened} onClose={() => setOpened(undefined)} />;
  return (
    <>
      <h2>Left out</h2>
      {value.total === 0 ? (
        <Notice text="Nothing: the request had every entry of the path." />
      ) : (
        <>
          <p class="facts">
            {count(value.total)} entries, {bytes(value.entries.reduce((sum, each) => sum + each.bytes, 0))}
          </p>
          <VirtualList
            label="Entries left out"
            items={value.entries}
            keyOf={({ entryId, where }) => `${entryId} ${where}`}
            onOpen={(entry) => setOpened(entry)}
            row={(entry) => (
              <>
                <span class="row-title">{oneLine(placeOf(entry))}</span>
                <span class="row-facts">
                  {oneLine(entry.role)} · {bytes(entry.bytes)} · {time(entry.at)} · {oneLine(entry.entryId)}
                </span>
              </>
            )}
          />
        </>
      )}
    </>
  );
}

function Opened({ place, entry, onClose }: { place: RequestPlace; entry: LeftOutEntry; onClose(): void }) {
  const { agent, sessionKey } = place;
  return (
    <>
      <div class="bar">
        <CloseButton onClose={onClose} />
      </div>
      {entry.summaryId === undefined || entry.by === undefined ? null : (
        <Summary {...place} entryId={entry.by} id={entry.summaryId} />
      )}
      <EntryWords agent={agent} sessionKey={sessionKey} entryId={entry.entryId} />
    </>
  );
}

function Summary({ agent, sessionKey, entryId, id }: RequestPlace & { entryId: string; id: string }) {
  const { value, error } = useLoaded(
    (signal) => server.inspect.summary(sessionKey, { agent, entryId, id, signal }),
    [agent, sessionKey, entryId, id],
  );
  return (
    <details>
      <summary>In its place: summary {id}</summary>
      <pre class="words">{visible(value ?? error ?? "Loading …")}</pre>
    </details>
  );
}
