/** One changed part of two requests: its words before and after, with what came and what went marked. */
import { diffWordsWithSpace } from "diff";
import type { ChangedPart, InspectedPart } from "@pagurus/api/types";
import { CloseButton } from "./close-button.tsx";
import { useLoaded } from "./loaded.ts";
import { Notice } from "./notice.tsx";
import { labelOf } from "./part-map.tsx";
import { bytes, visible } from "./plain-text.ts";
import type { RequestPlace } from "./request-place.ts";
import { server } from "./server-calls.ts";

/** Bytes of each side that are compared word by word. */
const MOST = 64 * 1_024;

interface Side {
  request: string;
  part: InspectedPart | undefined;
}

interface PartChangeProps extends RequestPlace {
  change: ChangedPart["change"];
  before: Side;
  after: Side;
  onClose(): void;
}

export function PartChange({ change, before, after, onClose, agent, sessionKey }: PartChangeProps) {
  const words = async ({ request, part }: Side, signal: AbortSignal): Promise<string> => {
    if (part?.from === undefined || part.to === undefined) return "";
    const to = Math.min(part.to, part.from + MOST);
    const read = await server.inspect.body(sessionKey, request, { agent, from: part.from, to, signal });
    return new TextDecoder().decode(read);
  };
  const { value, error } = useLoaded(
    async (signal) => {
      const [one, other] = await Promise.all([words(before, signal), words(after, signal)]);
      return diffWordsWithSpace(one, other);
    },
    [agent, sessionKey, before.request, before.part?.from, after.request, after.part?.from],
  );
  const part = after.part ?? before.part;
  const isCut = [before.part, after.part].some((each) => (each?.bytes ?? 0) > MOST);
  return (
    <>
      <div class="bar">
        <CloseButton onClose={onClose} />
      </div>
      <h2>{visible(`${change}: ${part ? labelOf(part) : ""}`)}</h2>
      {isCut ? <Notice text={`Of each side the first ${bytes(MOST)} are compared.`} /> : null}
      {error === undefined ? null : <Notice text={error} />}
      {value ? (
        <pre class="words" tabIndex={0} aria-label="Words that changed">
          {value.map(({ value: text, added, removed }, at) =>
            added ? (
              <ins key={at}>{visible(text)}</ins>
            ) : removed ? (
              <del key={at}>{visible(text)}</del>
            ) : (
              <span key={at}>{visible(text)}</span>
            ),
          )}
        </pre>
      ) : null}
    </>
  );
}
