/** A session's line of time, newest first: turns by runtime, their requests, compactions, rewinds and degradations. */
import { useEffect, useState } from "preact/hooks";
import { requestFacts, requestTitle } from "@pagurus/api/request-facts";
import type { TimelineItem } from "@pagurus/api/types";
import { CloseButton } from "./close-button.tsx";
import { ContextLine } from "./context-line.tsx";
import { Curves } from "./curves/curves.tsx";
import { Doing } from "./doing.tsx";
import { EntryActions } from "./entry-actions.tsx";
import { EntryWords } from "./entry-words.tsx";
import { ExportPanel } from "./report/export-panel.tsx";
import { Notice } from "./notice.tsx";
import { addressOf, go, goUp } from "./page-route.ts";
import { count } from "@pagurus/core/data/plain-numbers";
import { oneLine, time } from "./plain-text.ts";
import type { SessionPlace } from "./session-events.ts";
import { useEntryPlace, useTimeline } from "./session-timeline.ts";
import { Legend } from "./legend/explained.tsx";
import { TurnPanel } from "./turn/turn-panel.tsx";
import { VirtualList } from "./virtual-list.tsx";

const TERMS_HERE = ["turn", "request", "tokens", "cached", "miss", "compaction", "lane", "degraded"] as const;

export function SessionPage({
  agent,
  sessionKey,
  entry,
  generation,
}: SessionPlace & { entry?: string | undefined; generation?: string | undefined }) {
  const { timeline, more } = useTimeline({ agent, sessionKey });
  const chosen = useEntryPlace({ agent, sessionKey }, entry, { timeline, more });
  if (!timeline) return <Notice text="Loading the session …" />;
  const { items, total, error } = timeline;
  return (
    <main class={entry === undefined ? "page" : "page split"}>
      {error === undefined ? null : <Notice text={error} />}
      <section class="pane" aria-label="Line of time">
        <p class="facts">
          {total === undefined
            ? `The newest ${count(items.length)} items; reading the others …`
            : `${count(items.length)} of ${count(total)} items, newest first`}{" "}
          · <a href={addressOf({ page: "compactions", agent, key: sessionKey })}>Compactions</a> ·{" "}
          <a href={addressOf({ page: "preview", agent, key: sessionKey })}>What would be sent</a>
          {total === undefined ? null : (
            <ContextLine agent={agent} sessionKey={sessionKey} version={versionOf(items, total)} />
          )}
        </p>
        <ExportPanel agent={agent} sessionKey={sessionKey} />
        <Legend terms={TERMS_HERE} />
        {total === undefined ? null : (
          <Curves agent={agent} sessionKey={sessionKey} version={versionOf(items, total)} />
        )}
        {items.length === 0 ? (
          <Notice text="The session has no turn yet." />
        ) : (
          <VirtualList
            label="Line of time"
            items={items}
            keyOf={({ id }) => id}
            takesFocus
            chosenKey={chosen}
            onEnd={more}
            onOpen={(item) => open(item, { agent, sessionKey })}
            row={(item) => <Row item={item} />}
          />
        )}
        <Doing agent={agent} sessionKey={sessionKey} />
      </section>
      {entry === undefined ? null : (
        <section class="pane" aria-label="Words">
          <CloseButton onClose={goUp} />
          <EntryActions agent={agent} sessionKey={sessionKey} entryId={entry} generation={generation} />
          <EntryWords agent={agent} sessionKey={sessionKey} entryId={entry} generation={generation} />
          <InsideTurn agent={agent} sessionKey={sessionKey} turn={turnOf(items, entry)} />
        </section>
      )}
    </main>
  );
}

/** Id of the turn that an entry began; undefined where it began none, or its turn is not read so far. */
function turnOf(items: readonly TimelineItem[], entry: string): string | undefined {
  const item = items.find((each) => each.kind === "turn" && each.inputEntryId === entry);
  return item?.kind === "turn" ? item.turnId : undefined;
}

function InsideTurn({ agent, sessionKey, turn }: SessionPlace & { turn: string | undefined }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [turn]);
  if (turn === undefined) return null;
  if (isOpen)
    return <TurnPanel agent={agent} sessionKey={sessionKey} turn={turn} onClose={() => setOpen(false)} />;
  return (
    <button type="button" onClick={() => setOpen(true)}>
      Look inside this turn
    </button>
  );
}

/** Changes with a new item, and with what the newest request cost. */
function versionOf(items: readonly TimelineItem[], total: number): string {
  const newest = items.find((item) => item.kind === "request");
  return `${total} ${newest?.id ?? ""} ${newest?.request.usage === undefined ? "" : "used"}`;
}

function open(item: TimelineItem, { agent, sessionKey: key }: SessionPlace): void {
  if (item.kind === "request") go({ page: "request", agent, key, request: item.request.id });
  else if (item.kind === "turn" && item.inputEntryId !== undefined)
    go({ page: "session", agent, key, entry: item.inputEntryId });
  else if (item.kind === "compaction") go({ page: "session", agent, key, entry: item.entryId });
}

function Row({ item }: { item: TimelineItem }) {
  const { title, facts } = described(item);
  const [runtime] =
    item.kind === "turn" ? item.runtimes : item.kind === "request" ? [item.request.runtime] : [];
  return (
    <>
      <span class="row-title">
        <span class="mark" data-kind={item.kind} data-runtime={runtime}>
          {item.kind}
        </span>
        {oneLine(title)}
      </span>
      <span class="row-facts">
        {[...facts, time(item.at)]
          .filter((fact) => fact !== "")
          .map(oneLine)
          .join(" · ")}
      </span>
    </>
  );
}

function described(item: TimelineItem): { title: string; facts: string[] } {
  switch (item.kind) {
    case "turn": {
      const { title, runtimes, outcome, code, onPath } = item;
      const end = outcome === undefined ? "running" : code === undefined ? outcome : `${outcome} (${code})`;
      return { title, facts: [runtimes.join(", "), end, onPath ? "" : "off the path"] };
    }
    case "request":
      return { title: requestTitle(item.request), facts: requestFacts(item.request) };
    case "compaction": {
      const { handledBy, lane, tokensBefore, tokensAfter, summaries } = item;
      const after = tokensAfter === undefined ? "" : ` became ${count(tokensAfter)}`;
      return {
        title: `${count(tokensBefore)} tokens${after}`,
        facts: [
          handledBy ?? "",
          lane ?? "",
          summaries > 0 ? `${summaries} ${summaries === 1 ? "summary" : "summaries"}` : "",
        ],
      };
    }
    case "rewind":
      return { title: item.targetId === null ? "to the beginning" : `to ${item.targetId}`, facts: [] };
    case "fork":
      return { title: `of session ${item.sessionId} at ${item.entryId}`, facts: [] };
    case "degradation":
      return { title: item.reason, facts: [item.stage] };
  }
}
