/** The items of a session's line of time: the newest first, older ones as they are wanted, new ones as they happen. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { TimelineItem, TimelinePlace } from "@pagurus/api/types";
import { FIRST_ITEMS, takeEarly } from "./first-answer.ts";
import { errorText } from "./loaded.ts";
import { painted } from "./painted.ts";
import { server } from "./server-calls.ts";
import { sessionEvents, type SessionPlace } from "./session-events.ts";

export interface Timeline {
  /** Newest first. */
  items: readonly TimelineItem[];
  /** Absent until the server has read the whole session. */
  total?: number | undefined;
  next?: string | undefined;
  error?: string;
}

const PAGE = 300;
/** While an entry's item is looked for. */
const LARGE_PAGE = 1_000;
/** Rows that an event in a turn can have changed: a smaller answer is sooner on the screen. */
const NEWEST = 40;
/** How often the end of a session is looked at, ms: a turn of another process has no events here. */
const LOOK_MS = 2_000;
/** Events that add nothing to the line of time. */
const PASSING: ReadonlySet<string> = new Set(["text.delta", "thinking.delta", "tool.output"]);

export interface ReadTimeline {
  /** Undefined before the first answer. */
  timeline: Timeline | undefined;
  /** Reads older items, if there are any. */
  more(limit?: number): void;
}

export function useTimeline({ agent, sessionKey }: SessionPlace): ReadTimeline {
  const [timeline, setTimeline] = useState<Timeline>();
  const isLoading = useRef(false);
  /** Number of newest items to read next; 0 for none. */
  const wanted = useRef(0);
  const isFirst = useRef(true);
  const read = async (before: string | undefined, signal: AbortSignal, limit = PAGE): Promise<void> => {
    if (isLoading.current) {
      // What came since this reading began is read after it.
      if (before === undefined) wanted.current = Math.max(wanted.current, limit);
      return;
    }
    isLoading.current = true;
    try {
      const early = isFirst.current ? takeEarly(agent, sessionKey) : undefined;
      const { items, total, next } = await (early ??
        server.inspect.timeline(sessionKey, {
          agent,
          before,
          limit: isFirst.current ? FIRST_ITEMS : limit,
          atOnce: isFirst.current,
          signal,
        }));
      if (signal.aborted) return;
      const page = items.toReversed();
      const wasFirst = isFirst.current;
      isFirst.current = false;
      setTimeline((known) => {
        // What came at once is replaced by the first answer that is complete.
        if (known?.total === undefined) return { items: page, total, next };
        if (before !== undefined) return { items: [...known.items, ...page], total, next };
        const all = merged(page, known.items);
        if (all) return { items: all, total, next: known.next };
        // More is new than was read: what lies between is not known.
        if (limit < PAGE) wanted.current = PAGE;
        return limit < PAGE ? known : { items: page, total, next };
      });
      if (wasFirst && total === undefined) {
        wanted.current = PAGE;
        // The server and the page have one machine: the rows are painted before all others are read.
        await painted();
      }
    } catch (error) {
      if (!signal.aborted) setTimeline((known) => ({ items: [], ...known, error: errorText(error) }));
    } finally {
      // Otherwise it is of another session now.
      if (!signal.aborted) isLoading.current = false;
    }
    if (wanted.current === 0 || signal.aborted) return;
    const next = wanted.current;
    wanted.current = 0;
    await read(undefined, signal, next);
  };
  const controller = useRef(new AbortController());
  useEffect(() => {
    controller.current = new AbortController();
    const { signal } = controller.current;
    setTimeline(undefined);
    [isFirst.current, isLoading.current, wanted.current] = [true, false, 0];
    void read(undefined, signal);
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void read(undefined, signal);
    }, LOOK_MS);
    void lookAtEvents({ agent, sessionKey }, signal, (limit) => read(undefined, signal, limit));
    return () => {
      clearInterval(timer);
      controller.current.abort();
    };
  }, [agent, sessionKey]);
  const more = (limit?: number): void => {
    if (timeline?.next !== undefined) void read(timeline.next, controller.current.signal, limit);
  };
  return { timeline, more };
}

/** Looks again when something happens in the session, until the signal fires; a stream that ends is begun again by the client. */
async function lookAtEvents(
  { agent, sessionKey }: SessionPlace,
  signal: AbortSignal,
  look: (limit: number) => Promise<void>,
): Promise<void> {
  try {
    for await (const { event } of sessionEvents({ agent, sessionKey }, signal)) {
      if (PASSING.has(event.type)) continue;
      // The end of a turn is in its item, which all its requests come after. Events that come during a look are one more look.
      void look(/^(?:turn|work)\./.test(event.type) ? PAGE : NEWEST);
    }
  } catch {
    // Without events the session is looked at every now and then.
  }
}

/** The newest page, and of the known items those that are older; undefined where the page does not reach back to them. */
function merged(
  page: readonly TimelineItem[],
  known: readonly TimelineItem[],
): readonly TimelineItem[] | undefined {
  const ids = new Set(page.map(({ id }) => id));
  const older = known.filter(({ id }) => !ids.has(id));
  return older.length < known.length || known.length === 0 ? [...page, ...older] : undefined;
}

/**
 * Id of the item that an entry belongs to, once the list has it: older items are read until then. Undefined where it is in none, such as
 * an entry of an earlier generation.
 */
export function useEntryPlace(
  { agent, sessionKey }: SessionPlace,
  entry: string | undefined,
  { timeline, more }: ReadTimeline,
): string | undefined {
  const [place, setPlace] = useState<TimelinePlace>();
  useEffect(() => {
    const { signal, abort } = abortable();
    setPlace(undefined);
    if (entry !== undefined)
      server.inspect.timeline(sessionKey, { agent, entry, limit: 1, signal }).then(
        (answer) => !signal.aborted && setPlace(answer.place),
        // The line of time reports what fails.
        () => undefined,
      );
    return abort;
  }, [agent, sessionKey, entry]);
  const items = timeline?.items;
  const isThere = place !== undefined && items?.some(({ id }) => id === place.item) === true;
  useEffect(() => {
    if (place && !isThere && timeline?.total !== undefined) more(LARGE_PAGE);
  }, [place, isThere, items]);
  return isThere ? place.item : undefined;
}

function abortable(): { signal: AbortSignal; abort(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
