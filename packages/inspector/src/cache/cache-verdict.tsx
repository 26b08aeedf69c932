/** The verdict on the provider's cache for a request: the share that it held, or why it missed, the part that changed and what that cost. */
import type { InspectedPart, InspectedRequest, RequestDiff } from "@pagurus/api/types";
import { useLoaded } from "../loaded.ts";
import { labelOf } from "../part-map.tsx";
import { count, dollars, percent } from "@pagurus/core/data/plain-numbers";
import { Explained } from "../legend/explained.tsx";
import { oneLine } from "../plain-text.ts";
import type { RequestPlace } from "../request-place.ts";
import { server } from "../server-calls.ts";

type Cache = NonNullable<InspectedRequest["cache"]>;
type Miss = NonNullable<Cache["miss"]>;

export interface CacheHeld {
  inputTokens: number;
  share: number;
}

interface CacheVerdictProps extends RequestPlace {
  cache: Cache | undefined;
  /** Tokens of the input, and the share of them that was read from the cache; for a request that missed nothing. */
  held?: CacheHeld | undefined;
  parts: readonly InspectedPart[];
}

const CAUSES: Readonly<Record<Miss["cause"], string>> = {
  model: "another model than that of the request before",
  system: "the system prompt changed",
  tools: "the tools changed",
  messages: "earlier messages changed",
  time: "nothing changed, but the request before is more than five minutes old",
  unknown: "nothing changed since the request before",
};

const SYSTEM: ReadonlySet<string> = new Set(["system", "addition", "instructions", "memory"]);
/** They are in no cache, or in front of all. */
const OUTSIDE: ReadonlySet<string> = new Set(["framing", "settings", "tools", ...SYSTEM]);

export function CacheVerdict({ cache, parts, held, ...place }: CacheVerdictProps) {
  const miss = cache?.miss;
  const theirs = cache?.diagnosis;
  return (
    <>
      {miss ? <Verdict {...place} miss={miss} parts={parts} /> : held ? <Held {...held} /> : null}
      {theirs ? (
        <p class="facts" data-provider-says={theirs.reason}>
          The provider says of its cache: {oneLine(theirs.reason)}
          {theirs.missedTokens === undefined ? "" : `, ${count(theirs.missedTokens)} tokens`}.
        </p>
      ) : null}
    </>
  );
}

function Held({ inputTokens, share }: CacheHeld) {
  if (share === 0) return <p class="facts">Nothing of it was read from the provider's cache.</p>;
  return (
    <p class="facts" data-cache-held={share}>
      <strong>
        <Explained id="cached" />:
      </strong>{" "}
      {percent(share)}, {count(inputTokens * share)} of {count(inputTokens)} tokens. Nothing was missed.
    </p>
  );
}

function Verdict({ miss, parts, ...place }: RequestPlace & { miss: Miss; parts: readonly InspectedPart[] }) {
  const { agent, sessionKey, request } = place;
  const { value: diff } = useLoaded(
    (signal) => server.inspect.diff(sessionKey, request, { agent, signal }),
    [agent, sessionKey, request],
  );
  const part = diff && changedPart(miss, diff, parts);
  const cost = miss.cost === undefined ? "" : `, ${dollars(miss.cost)} more than from the cache`;
  return (
    <p class="facts miss" data-cache-miss={miss.cause}>
      <strong>
        <Explained id="miss" />:
      </strong>{" "}
      {CAUSES[miss.cause]}
      {part ? `, first in “${oneLine(labelOf(part))}”` : ""}: {count(miss.missedTokens)} tokens were not read
      from the cache{cost}.
    </p>
  );
}

/** The first part of the request that changed and is of the cause. */
function changedPart(
  { cause }: Miss,
  { changes = [] }: RequestDiff,
  parts: readonly InspectedPart[],
): InspectedPart | undefined {
  const isOfCause = ({ source }: InspectedPart): boolean => {
    if (cause === "system") return SYSTEM.has(source);
    if (cause === "tools") return source === "tools";
    return cause === "messages" && !OUTSIDE.has(source);
  };
  return changes
    .flatMap(({ after }) => (after === undefined ? [] : [parts[after]]))
    .find((part) => part !== undefined && isOfCause(part));
}
