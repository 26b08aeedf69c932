/** A list of any length with the keys of a list box. Only the rows in view are in the document. */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

export interface VirtualListProps<T> {
  /** Also the name for screen readers. */
  label: string;
  items: readonly T[];
  keyOf(item: T): string;
  row(item: T): ComponentChildren;
  /** Enter, space or a click. */
  onOpen(item: T): void;
  /** The end of the list is near. */
  onEnd?(): void;
  rowHeight?: number;
  /** The item of this key becomes the active one, and is scrolled into view. */
  chosenKey?: string | undefined;
  /** Takes the focus when it appears. */
  takesFocus?: boolean;
}

const ROW = 48;
/** Rows that a page key moves by. */
const PAGE = 10;

function idOf(label: string, index: number): string {
  return `${label.replaceAll(/\W+/g, "-")}-${index}`;
}

function useVirtualizer(count: number, rowHeight: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, render] = useReducer((version: number) => version + 1, 0);
  const [virtualizer] = useState(
    () =>
      new Virtualizer<HTMLDivElement, HTMLDivElement>({
        count,
        getScrollElement: () => scroller.current,
        estimateSize: () => rowHeight,
        overscan: 4,
        observeElementRect,
        observeElementOffset,
        scrollToFn: elementScroll,
        onChange: () => render(undefined),
      }),
  );
  virtualizer.setOptions({ ...virtualizer.options, count, estimateSize: () => rowHeight });
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return { scroller, virtualizer };
}

function moved(key: string, active: number, last: number): number | undefined {
  if (key === "ArrowDown") return Math.min(last, active + 1);
  if (key === "ArrowUp") return Math.max(0, active - 1);
  if (key === "PageDown") return Math.min(last, active + PAGE);
  if (key === "PageUp") return Math.max(0, active - PAGE);
  if (key === "Home") return 0;
  return key === "End" ? last : undefined;
}

function isInView(list: HTMLElement | null, index: number, rowHeight: number): boolean {
  if (!list) return false;
  const top = index * rowHeight - list.scrollTop;
  return top >= 0 && top + rowHeight <= list.clientHeight;
}

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { label, items, keyOf, row, onOpen, onEnd, rowHeight = ROW, takesFocus, chosenKey } = props;
  const { scroller, virtualizer } = useVirtualizer(items.length, rowHeight);
  const [active, setActive] = useState(0);
  const visibleItems = virtualizer.getVirtualItems();
  const lastVisible = visibleItems.at(-1)?.index ?? 0;
  // Before the first paint: a key that is pressed as soon as the list is seen reaches it.
  useLayoutEffect(() => {
    // A list that comes while the user types does not take the keys away.
    const isTyping = document.activeElement instanceof HTMLInputElement;
    if (takesFocus === true && !isTyping) scroller.current?.focus({ preventScroll: true });
  }, []);
  useEffect(() => {
    if (items.length > 0 && lastVisible >= items.length - PAGE) onEnd?.();
  }, [lastVisible, items.length]);
  useEffect(() => {
    const index = chosenKey === undefined ? -1 : items.findIndex((item) => keyOf(item) === chosenKey);
    if (index < 0) return;
    setActive(index);
    virtualizer.scrollToIndex(index, {
      align: isInView(scroller.current, index, rowHeight) ? "auto" : "center",
    });
  }, [chosenKey]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = moved(event.key, active, items.length - 1);
    const item = items[active];
    if (next !== undefined && items.length > 0) {
      setActive(next);
      virtualizer.scrollToIndex(next);
    } else if ((event.key === "Enter" || event.key === " ") && item !== undefined) onOpen(item);
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="list"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={items.length > 0 ? idOf(label, active) : undefined}
      ref={scroller}
      onKeyDown={onKeyDown}
    >
      <div class="list-space" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {visibleItems.map(({ index, start }) => {
          const item = items[index];
          if (item === undefined) return null;
          return (
            <div
              key={keyOf(item)}
              id={idOf(label, index)}
              class="row"
              data-key={keyOf(item)}
              role="option"
              aria-selected={index === active}
              style={{ transform: `translateY(${start}px)`, height: `${rowHeight}px` }}
              onClick={() => {
                setActive(index);
                onOpen(item);
              }}
            >
              {row(item)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
