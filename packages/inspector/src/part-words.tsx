/** The bytes of one part as the model got them, a piece at a time, or the words of its entry where no body is captured. */
import { useState } from "preact/hooks";
import type { InspectedPart } from "@pagurus/api/types";
import { CloseButton } from "./close-button.tsx";
import { EntryWords } from "./entry-words.tsx";
import { useLoaded } from "./loaded.ts";
import { Notice } from "./notice.tsx";
import { go } from "./page-route.ts";
import { readableWords } from "./readable-words.ts";
import { labelOf } from "./part-map.tsx";
import { count } from "@pagurus/core/data/plain-numbers";
import { bytes, oneLine, visible } from "./plain-text.ts";
import type { RequestPlace } from "./request-place.ts";
import { server } from "./server-calls.ts";

/** Bytes shown at once. */
const PIECE = 64 * 1_024;

interface PartWordsProps extends RequestPlace {
  part: InspectedPart;
  onClose(): void;
}

export function PartWords({ part, onClose, ...place }: PartWordsProps) {
  const { agent, sessionKey: key } = place;
  const [entryId] = part.entryIds ?? [];
  return (
    <>
      <div class="bar">
        <CloseButton onClose={onClose} />
        {entryId === undefined ? null : (
          <button type="button" onClick={() => go({ page: "session", agent, key, entry: entryId })}>
            In the session
          </button>
        )}
      </div>
      <h2>{oneLine(labelOf(part))}</h2>
      {part.from === undefined || part.to === undefined ? (
        <Uncaptured {...place} entryId={entryId} />
      ) : (
        <BodyRange {...place} from={part.from} to={part.to} />
      )}
    </>
  );
}

function Uncaptured({ agent, sessionKey, entryId }: RequestPlace & { entryId: string | undefined }) {
  if (entryId === undefined)
    return <Notice text="The words of this part are in no entry, and the body is not captured." />;
  return <EntryWords agent={agent} sessionKey={sessionKey} entryId={entryId} />;
}

/** Forms of a part's words. */
const FORMS = [
  ["words", "Words"],
  ["bytes", "Bytes as sent"],
  ["both", "Side by side"],
] as const;

type Form = (typeof FORMS)[number][0];

function BodyRange({ agent, sessionKey, request, from, to }: RequestPlace & { from: number; to: number }) {
  const [start, setStart] = useState(from);
  const [form, setForm] = useState<Form>("words");
  // Another part is opened in the same place.
  const at = start >= from && start < to ? start : from;
  const end = Math.min(to, at + PIECE);
  const { value, error } = useLoaded(
    async (signal) => {
      const read = await server.inspect.body(sessionKey, request, { agent, from: at, to: end, signal });
      return new TextDecoder().decode(read);
    },
    [agent, sessionKey, request, at, end],
  );
  if (error !== undefined) return <Notice text={error} />;
  return (
    <>
      <div class="bar" role="group" aria-label="Form of the words">
        {FORMS.map(([id, name]) => (
          <button key={id} type="button" aria-pressed={form === id} onClick={() => setForm(id)}>
            {name}
          </button>
        ))}
        <span class="quiet">
          bytes {count(at)} to {count(end)} of the body, {bytes(to - from)} in the part
        </span>
      </div>
      {to - from > PIECE ? (
        <div class="bar">
          <button type="button" disabled={at <= from} onClick={() => setStart(Math.max(from, at - PIECE))}>
            Before
          </button>
          <button type="button" disabled={end >= to} onClick={() => setStart(end)}>
            After
          </button>
        </div>
      ) : null}
      {value === undefined ? (
        <Notice text="Loading the words …" />
      ) : (
        <div class="both-words">
          {form === "bytes" ? null : (
            <pre class="words readable" dir="auto" tabIndex={0} aria-label="Words">
              {visible(readableWords(value))}
            </pre>
          )}
          {form === "words" ? null : (
            <pre class="words" dir="ltr" tabIndex={0} aria-label="Words as sent">
              {visible(value)}
            </pre>
          )}
        </div>
      )}
    </>
  );
}
