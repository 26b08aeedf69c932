/** A session's line of time, newest first: turns by runtime, their requests, compactions, rewinds and degradations. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { TimelineItem } from "../../src/client/inspect-types.ts";
import { CloseButton } from "./close-button.tsx";
import { Curves } from "./curves/curves.tsx";
import { Doing } from "./doing.tsx";
import { EntryActions } from "./entry-actions.tsx";
import { EntryWords } from "./entry-words.tsx";
import { ExportPanel } from "./report/export-panel.tsx";
import { errorText } from "./loaded.ts";
import { Notice } from "./notice.tsx";
import { addressOf, go, goUp } from "./page-route.ts";
import { count, dollars, oneLine, percent, time } from "./plain-text.ts";
import { server } from "./server-calls.ts";
import { sessionEvents } from "./session-events.ts";
import { VirtualList } from "./virtual-list.tsx";

interface Place {
  agent: string;
  sessionKey: string;
}

interface Timeline {
  /** Newest first. */
  items: readonly TimelineItem[];
  /** Absent until the server has read the whole session. */
  total?: number | undefined;
  next?: string | undefined;
  error?: string;
}

const PAGE = 300;
/** A few screens: they are there before a long session is read. */
const FIRST_PAGE = 60;
/** How often the end of a session is looked at, ms: a turn of another process has no events here. */
const LOOK_MS = 2_000;
/** Events of one moment are one look, ms. */
const TOGETHER_MS = 30;
/** Events that add nothing to the line of time. */
const PASSING: ReadonlySet<string> = new Set(["text.delta", "thinking.delta", "tool.output"]);

function useTimeline({ agent, sessionKey }: Place) {
  const [timeline, setTimeline] = useState<Timeline>();
  const isLoading = useRef(false);
  const isWanted = useRef(false);
  const isFirst = useRef(true);
  const read = async (before: string | undefined, signal: AbortSignal): Promise<void> => {
    if (isLoading.current) {
      // What came since this reading began is read after it.
      if (before === undefined) isWanted.current = true;
      return;
    }
    isLoading.current = true;
    try {
      const { items, total, next } = await server.inspect.timeline(sessionKey, {
        agent,
        before,
        limit: isFirst.current ? FIRST_PAGE : PAGE,
        atOnce: isFirst.current,
        signal,
      });
      const page = items.toReversed();
      const wasFirst = isFirst.current;
      isFirst.current = false;
      setTimeline((known) => {
        // What came at once is replaced by the first answer that is complete.
        if (known?.total === undefined) return { items: page, total, next };
        const older = before === undefined ? merged(page, known.items) : [...known.items, ...page];
        return { items: older, total, next: before === undefined ? known.next : next };
      });
      isWanted.current ||= wasFirst && total === undefined;
    } catch (error) {
      if (!signal.aborted) setTimeline((known) => ({ items: [], ...known, error: errorText(error) }));
    } finally {
      isLoading.current = false;
    }
    if (!isWanted.current || signal.aborted) return;
    isWanted.current = false;
    await read(undefined, signal);
  };
  const controller = useRef(new AbortController());
  useEffect(() => {
    controller.current = new AbortController();
    const { signal } = controller.current;
    setTimeline(undefined);
    isFirst.current = true;
    void read(undefined, signal);
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void read(undefined, signal);
    }, LOOK_MS);
    void lookAtEvents({ agent, sessionKey }, signal, () => read(undefined, signal));
    return () => {
      clearInterval(timer);
      controller.current.abort();
    };
  }, [agent, sessionKey]);
  const more = (): void => {
    if (timeline?.next !== undefined) void read(timeline.next, controller.current.signal);
  };
  return { timeline, more };
}

/** Looks again when something happens in the session, until the signal fires; a stream that ends is begun again by the client. */
async function lookAtEvents(
  { agent, sessionKey }: Place,
  signal: AbortSignal,
  look: () => Promise<void>,
): Promise<void> {
  let planned: number | undefined;
  try {
    for await (const { event } of sessionEvents({ agent, sessionKey }, signal)) {
      if (planned !== undefined || PASSING.has(event.type)) continue;
      planned = window.setTimeout(() => {
        planned = undefined;
        void look();
      }, TOGETHER_MS);
    }
  } catch {
    // Without events the session is looked at every now and then.
  }
}

/** The newest page, and of the known items those that are older. */
function merged(page: readonly TimelineItem[], known: readonly TimelineItem[]): readonly TimelineItem[] {
  const ids = new Set(page.map(({ id }) => id));
  return [...page, ...known.filter(({ id }) => !ids.has(id))];
}

export function SessionPage({
  agent,
  sessionKey,
  entry,
  generation,
}: Place & { entry?: string | undefined; generation?: string | undefined }) {
  const { timeline, more } = useTimeline({ agent, sessionKey });
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
        </p>
        <ExportPanel agent={agent} sessionKey={sessionKey} />
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
        </section>
      )}
    </main>
  );
}

/** Changes with a new item, and with what the newest request cost. */
function versionOf(items: readonly TimelineItem[], total: number): string {
  const newest = items.find((item) => item.kind === "request");
  return `${total} ${newest?.id ?? ""} ${newest?.request.usage === undefined ? "" : "used"}`;
}

function open(item: TimelineItem, { agent, sessionKey: key }: Place): void {
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
    case "request": {
      const { model, purpose, tokens, usage, cacheShare, cache, runtime } = item.request;
      const missed = cache?.miss ? [`cache miss: ${cache.miss.cause}`, dollars(cache.miss.cost)] : [];
      const miss = missed.filter((word) => word !== "").join(", ");
      const cached = cacheShare === undefined ? "" : `cache ${percent(cacheShare)}`;
      const used = usage
        ? `${count(usage.input + (usage.cacheRead ?? 0))} tokens in`
        : `${count(tokens ?? 0)} tokens`;
      return {
        title: `${model}${purpose === undefined ? "" : `, ${purpose}`}`,
        facts: [runtime, used, cached, dollars(usage?.cost), miss],
      };
    }
    case "compaction": {
      const { handledBy, lane, tokensBefore, tokensAfter, summaries } = item;
      const after = tokensAfter === undefined ? "" : ` to ${count(tokensAfter)}`;
      return {
        title: `${count(tokensBefore)}${after} tokens`,
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
