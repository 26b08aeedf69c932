/** Entries of the session that a request did not hold, and where each was instead. */
import { useState } from "preact/hooks";
import type { LeftOutEntry, LeftOutSum } from "@pagurus/api/types";
import { CloseButton } from "./close-button.tsx";
import { EntryWords } from "./entry-words.tsx";
import { useLoaded } from "./loaded.ts";
import { Notice } from "./notice.tsx";
import { count, plural } from "@pagurus/core/data/plain-numbers";
import { Explained } from "./legend/explained.tsx";
import { TERMS } from "./legend/terms.ts";
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

function placeOf({ where, by, trimmed }: LeftOutEntry): string {
  switch (where) {
    case "summarized":
      return TERMS.summarized.name;
    case "obsolete":
      return TERMS.obsolete.name;
    case "trimmed":
      return trimmed ? `Shortened to ${bytes(trimmed.toBytes)}` : TERMS.trimmed.name;
    case "off-path":
      return by === undefined ? TERMS["off-path"].name : "Replaced by a later message";
    case "evicted":
      return TERMS.evicted.name;
  }
}

/** For example `40 in a summary, 2 shortened`. */
function whereText(entries: readonly LeftOutEntry[]): string {
  const byPlace = Object.groupBy(entries, ({ where }) => where);
  return Object.entries(byPlace)
    .map(([where, all]) => `${count(all.length)} ${TERMS[where as LeftOutEntry["where"]].name.toLowerCase()}`)
    .join(", ");
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
        <Notice text="Nothing: the request had every message of the conversation." />
      ) : (
        <>
          <p class="facts">
            {plural(value.total, "message")},{" "}
            {bytes(value.entries.reduce((sum, each) => sum + each.bytes, 0))}: {whereText(value.entries)}.{" "}
            <Explained id="leftOut" text="Where are they?" />
          </p>
          <VirtualList
            label="Entries left out"
            items={value.entries}
            keyOf={({ entryId, where }) => `${entryId} ${where}`}
            onOpen={(entry) => setOpened(entry)}
            row={(entry) => (
              <>
                <span class="row-title">
                  <span class="mark" data-where={entry.where}>
                    {placeOf(entry)}
                  </span>
                  {oneLine(entry.words ?? `a message of ${entry.role}`)}
                </span>
                <span class="row-facts">
                  {oneLine(entry.role)} · {bytes(entry.bytes)} · {time(entry.at)}
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
    <details open>
      <summary>In its place the request has this summary</summary>
      <pre class="words">{visible(value ?? error ?? "Loading …")}</pre>
    </details>
  );
}
