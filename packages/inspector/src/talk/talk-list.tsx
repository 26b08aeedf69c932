/** The rows of a conversation, of which only those in view are in the document. It stays at the newest one until the user scrolls away. */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { TalkItem } from "./talk-items.ts";

/** Closer than this to its end the list stays at the end, px. */
const NEAR_END = 60;
/** Rows that are left above before older ones are read. */
const NEAR_START = 12;
const GUESSED: Readonly<Record<TalkItem["kind"], number>> = {
  user: 84,
  text: 140,
  thinking: 40,
  tool: 56,
  mark: 40,
  plan: 96,
  subagent: 56,
  end: 44,
};

interface TalkListProps {
  items: readonly TalkItem[];
  row(item: TalkItem): ComponentChildren;
  /** Above the first row: whether there are more. */
  head: ComponentChildren;
  onStart(): void;
  /** Entry that is brought into view once it is there. */
  wanted?: string | undefined;
}

function useVirtual(items: readonly TalkItem[]) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, render] = useReducer((version: number) => version + 1, 0);
  const options = {
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index: number) => GUESSED[items[index]?.kind ?? "text"],
    getItemKey: (index: number) => items[index]?.key ?? index,
    overscan: 3,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => render(undefined),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLDivElement>(options));
  virtualizer.setOptions({ ...virtualizer.options, ...options });
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return { scroller, virtualizer };
}

function isAtEnd({ scrollHeight, scrollTop, clientHeight }: HTMLElement): boolean {
  return scrollHeight - scrollTop - clientHeight < NEAR_END;
}

/** How long rows near the wanted one take to have their real heights, ms. */
const MEASURED_MS = 120;

/** Brings the row of an entry into view, once it is there. */
function useWanted(items: readonly TalkItem[], wanted: string | undefined, show: (at: number) => void): void {
  const at =
    wanted === undefined ? -1 : items.findIndex((item) => "entryId" in item && item.entryId === wanted);
  useEffect(() => {
    if (at < 0) return undefined;
    show(at);
    const timer = setTimeout(() => show(at), MEASURED_MS);
    return () => clearTimeout(timer);
  }, [wanted, at < 0]);
}

/** Calls back when no entry is wanted any more: what comes next is at the end. */
function useEndAfter(wanted: string | undefined, follow: () => void): void {
  const last = useRef(wanted);
  useLayoutEffect(() => {
    if (wanted === undefined && last.current !== undefined) follow();
    last.current = wanted;
  }, [wanted]);
}

export function TalkList({ items, row, head, onStart, wanted }: TalkListProps) {
  const { scroller, virtualizer } = useVirtual(items);
  const [isAway, setAway] = useState(false);
  const follows = useRef(true);
  const firstKey = useRef<string | undefined>(undefined);
  const rows = virtualizer.getVirtualItems();
  const first = rows[0]?.index ?? 0;
  const total = virtualizer.getTotalSize();
  useEffect(() => {
    if (items.length > 0 && first < NEAR_START) onStart();
  }, [first < NEAR_START, items[0]?.key]);
  // Rows that came above: what was in view stays where it is.
  useLayoutEffect(() => {
    const element = scroller.current;
    const [known, now] = [firstKey.current, items[0]?.key];
    firstKey.current = now;
    if (!element || known === undefined || known === now || follows.current) return;
    const at = items.findIndex(({ key }) => key === known);
    const start = at < 0 ? undefined : virtualizer.measurementsCache[at]?.start;
    if (start !== undefined) element.scrollTop += start;
  }, [items[0]?.key]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && follows.current && wanted === undefined) element.scrollTop = element.scrollHeight;
  });
  useEndAfter(wanted, () => (follows.current = true));
  useWanted(items, wanted, (at) => {
    follows.current = false;
    virtualizer.scrollToIndex(at, { align: "center" });
  });
  const toEnd = (): void => {
    follows.current = true;
    const element = scroller.current;
    if (element) element.scrollTop = element.scrollHeight;
  };
  return (
    <div class="talk-frame">
      <div
        class="talk-list"
        ref={scroller}
        tabIndex={0}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        onScroll={({ currentTarget }) => {
          const now = isAtEnd(currentTarget);
          follows.current = now;
          setAway(!now);
        }}
      >
        {head}
        <div class="talk-space" style={{ height: `${total}px` }}>
          {rows.map(({ index, start, key }) => {
            const item = items[index];
            if (item === undefined) return null;
            return (
              <div
                key={key}
                class="talk-row"
                data-index={index}
                data-kind={item.kind}
                ref={(element) => virtualizer.measureElement(element)}
                style={{ transform: `translateY(${start}px)` }}
              >
                <div class="column">{row(item)}</div>
              </div>
            );
          })}
        </div>
      </div>
      {isAway ? (
        <button type="button" class="to-end" aria-label="To the newest message" onClick={toEnd}>
          ↓
        </button>
      ) : null}
    </div>
  );
}
