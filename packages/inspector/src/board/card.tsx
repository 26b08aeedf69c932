/** Parts of the dashboard: a card with a heading, rows of a list with their actions, a badge with a meaning. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../action-state.ts";
import { visible } from "../plain-text.ts";

/** Rows that a list shows before "Show all". */
const FEW = 6;
/** Rows of a whole list: the page stays small. */
const MOST = 40;

export type Tone = "good" | "warn" | "bad" | "quiet";

interface CardProps {
  title: string;
  /** A short fact beside the title. */
  fact?: string | undefined;
  error?: string | undefined;
  children: ComponentChildren;
}

export function Card({ title, fact, error, children }: CardProps) {
  const id = `board-${title.replaceAll(/\W+/g, "-").toLowerCase()}`;
  return (
    <section class="card" aria-labelledby={id}>
      <header class="card-head">
        <h2 id={id}>{title}</h2>
        {fact === undefined ? null : <span class="card-fact">{fact}</span>}
      </header>
      {error === undefined ? null : (
        <p class="note" data-tone="bad" role="status">
          {visible(error)}
        </p>
      )}
      {children}
    </section>
  );
}

export function Badge({ tone, text }: { tone: Tone; text: string }) {
  return (
    <span class="badge" data-tone={tone}>
      {text}
    </span>
  );
}

interface RowsProps<T> {
  items: readonly T[] | undefined;
  keyOf(item: T): string;
  row(item: T): ComponentChildren;
  /** The words for an empty list. */
  none: string;
}

export function Rows<T>({ items, keyOf, row, none }: RowsProps<T>) {
  const [isAll, setAll] = useState(false);
  if (!items) return <p class="quiet">Loading …</p>;
  if (items.length === 0) return <p class="quiet">{none}</p>;
  const shown = items.slice(0, isAll ? MOST : FEW);
  return (
    <>
      <ul class="rows">
        {shown.map((item) => (
          <li key={keyOf(item)}>{row(item)}</li>
        ))}
      </ul>
      {items.length > FEW ? (
        <button type="button" class="link" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll
            ? "Show fewer"
            : `Show ${items.length > MOST ? `the first ${MOST} of ` : "all "}${items.length}`}
        </button>
      ) : null}
    </>
  );
}

export interface Choice {
  label: string;
  /** Also the name for screen readers, with its object: `Stop the turn of sea`. */
  name: string;
  /** Asks again before it runs. */
  isFinal?: boolean;
  tone?: "main" | "bad";
  run(): Promise<unknown>;
}

/** Buttons of a row, one at a time; a failure is a sentence below. */
export function Choices({ of, after }: { of: readonly Choice[]; after(): void }) {
  const action = useAction();
  const [asked, setAsked] = useState<string>();
  const press = ({ label, isFinal, run }: Choice): void => {
    if (isFinal === true && asked !== label) return setAsked(label);
    setAsked(undefined);
    void action
      .run(`${label} …`, async () => {
        await run();
        return "";
      })
      .then(after);
  };
  return (
    <div class="choices">
      {of.map((choice) => (
        <button
          key={choice.label}
          type="button"
          data-tone={choice.tone}
          aria-label={asked === choice.label ? `Really: ${choice.name}` : choice.name}
          disabled={action.isBusy}
          onClick={() => press(choice)}
          onBlur={() => setAsked(undefined)}
        >
          {asked === choice.label ? `Really ${choice.label.toLowerCase()}?` : choice.label}
        </button>
      ))}
      {action.text === "" ? null : (
        <p class="note" data-tone="bad" role="status">
          {visible(action.text)}
        </p>
      )}
    </div>
  );
}
