/** A term with its explanation: a word that opens a note, and a list of the words of a page. */
import { useId } from "preact/hooks";
import { SOURCES, TERMS, type Term, type TermId } from "./terms.ts";
import type { PartSource } from "@pagurus/api/types";

interface ExplainedProps {
  id: TermId;
  /** Default: the term's name. */
  text?: string;
}

/** A word of a sentence; a click, a touch or a key opens its explanation. */
export function Explained({ id, text }: ExplainedProps) {
  const note = useId();
  const { name, says } = TERMS[id];
  return (
    <span class="explained">
      <button type="button" class="term" popovertarget={note} title={says}>
        {text ?? name}
      </button>
      <span id={note} popover="auto" class="term-note">
        <strong>{name}.</strong> {says}
      </span>
    </span>
  );
}

/** The mark of a source, in rows that are opened as a whole. */
export function SourceMark({ source }: { source: PartSource }) {
  const { name, says } = SOURCES[source];
  return (
    <span class="mark" data-source={source} title={says}>
      {name}
    </span>
  );
}

/** The words that a page uses, closed until they are asked for. */
export function Legend({
  sources = [],
  terms = [],
}: {
  sources?: readonly PartSource[];
  terms?: readonly TermId[];
}) {
  const rows: (Term & { source?: PartSource })[] = [
    ...sources.map((source) => ({ ...SOURCES[source], source })),
    ...terms.map((id) => TERMS[id]),
  ];
  if (rows.length === 0) return null;
  return (
    <details class="legend">
      <summary>Words on this page</summary>
      <dl>
        {rows.map(({ name, says, source }) => (
          <div key={name}>
            <dt>{source === undefined ? name : <SourceMark source={source} />}</dt>
            <dd>{says}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
