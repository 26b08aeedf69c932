/**
 * The inspector of one turn, beside the conversation: its requests, where the tokens of each come from, what the cache did, and what was
 * left out. A place of its own has the same address as ever.
 */
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { requestFacts } from "@pagurus/api/request-facts";
import type { InspectedPart, InspectedRequest } from "@pagurus/api/types";
import { count, dollars, percent, plural } from "@pagurus/core/data/plain-numbers";
import { CacheVerdict, type CacheHeld } from "../cache/cache-verdict.tsx";
import { CloseButton } from "../close-button.tsx";
import { LeftOut } from "../left-out.tsx";
import { Explained, Legend, SourceMark } from "../legend/explained.tsx";
import { useLoaded } from "../loaded.ts";
import { Notice } from "../notice.tsx";
import { addressOf } from "../page-route.ts";
import { namedOf } from "../part-map.tsx";
import { PartWords } from "../part-words.tsx";
import { bytes, oneLine, time } from "../plain-text.ts";
import type { RequestPlace } from "../request-place.ts";
import { useParts } from "../request-parts.ts";
import { SourceBar } from "../source-bar.tsx";
import { server } from "../server-calls.ts";
import { VirtualList } from "../virtual-list.tsx";
import "./turn-panel.css";

/** Requests of a turn that are shown: the newest ones. */
const MOST_REQUESTS = 200;

export interface TurnPanelProps {
  agent: string;
  sessionKey: string;
  /** Id of the turn; the id of work is also that of its turn. */
  turn: string;
  /** Changes when the turn has new requests. */
  version?: unknown;
  /** The focus goes into it when it opens. */
  takesFocus?: boolean;
  onClose(): void;
}

/** The requests of a turn; the known ones stay while newer ones are read. */
function useRequests({ agent, sessionKey, turn, version }: TurnPanelProps) {
  const { value, error } = useLoaded(
    (signal) => server.inspect.requests(sessionKey, { agent, turn, limit: MOST_REQUESTS, signal }),
    [agent, sessionKey, turn, version],
  );
  const known = useRef<{ of: string; value: NonNullable<typeof value> } | undefined>(undefined);
  const of = `${agent} ${sessionKey} ${turn}`;
  if (value) known.current = { of, value };
  return { value: value ?? (known.current?.of === of ? known.current.value : undefined), error };
}

export function TurnPanel(props: TurnPanelProps) {
  const { agent, sessionKey, turn, takesFocus = false, onClose } = props;
  const { value, error } = useRequests(props);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (takesFocus) title.current?.focus();
  }, [turn, takesFocus]);
  const [chosen, setChosen] = useState<string>();
  useEffect(() => setChosen(undefined), [agent, sessionKey, turn]);
  const requests = value?.requests ?? [];
  const request = requests.find(({ id }) => id === chosen) ?? requests.findLast(isOwn) ?? requests.at(-1);
  return (
    <aside class="turn-panel" aria-label="Inside the turn" onKeyDown={closeInnermost}>
      <header class="panel-head">
        <h2 ref={title} tabIndex={-1}>
          Inside this turn
        </h2>
        <CloseButton onClose={onClose} />
      </header>
      {error === undefined ? null : <Notice text={error} />}
      {!value && error === undefined ? <Notice text="Loading the turn …" /> : null}
      {value && !request ? (
        <Notice text="The turn has sent no request so far." />
      ) : request ? (
        <>
          <TurnFacts requests={requests} />
          <RequestTabs requests={requests} chosen={request.id} onChoose={setChosen} />
          <RequestBody key={request.id} agent={agent} sessionKey={sessionKey} request={request} />
        </>
      ) : null}
    </aside>
  );
}

/** Escape closes what was opened last in the panel, then the panel; it does not reach the turn that runs beside it. */
function closeInnermost(event: TargetedKeyboardEvent<HTMLElement>): void {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  // A note of a term closes by itself.
  if (event.currentTarget.querySelector(":popover-open")) return event.stopPropagation();
  [...event.currentTarget.querySelectorAll<HTMLButtonElement>("[data-close]")].at(-1)?.click();
  event.preventDefault();
}

function isOwn({ purpose }: InspectedRequest): boolean {
  return purpose === undefined;
}

function sumOf(
  requests: readonly InspectedRequest[],
  valueOf: (request: InspectedRequest) => number,
): number {
  return requests.reduce((sum, request) => sum + valueOf(request), 0);
}

function TurnFacts({ requests }: { requests: readonly InspectedRequest[] }) {
  const input = sumOf(requests, ({ inputTokens, tokens = 0 }) => inputTokens ?? tokens);
  const cached = sumOf(requests, ({ inputTokens = 0, cacheShare = 0 }) => inputTokens * cacheShare);
  const output = sumOf(requests, ({ usage }) => usage?.output ?? 0);
  const costs = requests.flatMap(({ usage }) => usage?.cost ?? []);
  const cost = costs.reduce((sum, each) => sum + each, 0);
  return (
    <dl class="panel-facts">
      <div>
        <dt>{costs.length === 0 ? "Price unknown" : "Cost"}</dt>
        <dd>{costs.length === 0 ? "–" : dollars(cost)}</dd>
      </div>
      <div>
        <dt>
          <Explained id="request" text="Requests" />
        </dt>
        <dd>{count(requests.length)}</dd>
      </div>
      <div>
        <dt>
          <Explained id="tokens" text="Tokens in" />
        </dt>
        <dd>{count(input)}</dd>
      </div>
      <div>
        <dt>
          <Explained id="cached" text="Cached" />
        </dt>
        <dd>{input === 0 ? "–" : percent(cached / input)}</dd>
      </div>
      <div>
        <dt>Tokens out</dt>
        <dd>{count(output)}</dd>
      </div>
    </dl>
  );
}

interface TabsProps {
  requests: readonly InspectedRequest[];
  chosen: string;
  onChoose(id: string): void;
}

/** One request needs no choice. */
function RequestTabs({ requests, chosen, onChoose }: TabsProps) {
  if (requests.length < 2) return null;
  const label = (request: InspectedRequest, at: number): string => {
    const { purpose, inputTokens, tokens = 0, usage, cache } = request;
    return [
      `${at + 1}`,
      purpose ?? (at === 0 ? "first" : "after a tool"),
      `${count(inputTokens ?? tokens)} tokens`,
      usage?.cost === undefined ? "" : dollars(usage.cost),
      cache?.miss ? "cache miss" : "",
    ]
      .filter((word) => word !== "")
      .join(" · ");
  };
  return (
    <label class="panel-choice">
      <span>Request</span>
      <select value={chosen} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        {requests.map((request, at) => (
          <option key={request.id} value={request.id}>
            {oneLine(label(request, at))}
          </option>
        ))}
      </select>
    </label>
  );
}

type View = "sent" | "left";

function RequestBody({
  agent,
  sessionKey,
  request: row,
}: {
  agent: string;
  sessionKey: string;
  request: InspectedRequest;
}) {
  const place: RequestPlace = { agent, sessionKey, request: row.id };
  const { value, error } = useLoaded(
    (signal) => server.inspect.request(sessionKey, row.id, { agent, signal }),
    [agent, sessionKey, row.id],
  );
  const { parts, error: failed } = useParts(place);
  const [view, setView] = useState<View>("sent");
  if (error !== undefined || failed !== undefined) return <Notice text={error ?? failed ?? ""} />;
  return (
    <>
      <p class="facts">
        {[time(row.at), row.model, ...requestFacts(row, ["cache", "degraded", "cost"])]
          .map(oneLine)
          .join(" · ")}
      </p>
      <CacheVerdict {...place} cache={row.cache} parts={parts} held={heldOf(row)} />
      {row.degraded === undefined ? null : <Notice text={`Degraded: ${row.degraded}`} />}
      {value ? <SourceBar sums={value.sums} /> : null}
      {value && !value.captured ? <Notice text={value.why ?? ""} /> : null}
      <div class="tabs" role="group" aria-label="What to look at">
        <button type="button" aria-pressed={view === "sent"} onClick={() => setView("sent")}>
          What was sent
        </button>
        <button type="button" aria-pressed={view === "left"} onClick={() => setView("left")}>
          What was left out
        </button>
      </div>
      {view === "sent" ? <SentParts {...place} parts={parts} /> : <LeftOut {...place} />}
      <Links {...place} />
      <Legend
        sources={(value?.sums ?? []).map(({ source }) => source)}
        terms={["tokens", "cached", "miss", "leftOut", "summarized", "trimmed"]}
      />
    </>
  );
}

/** Undefined where the provider reports no cache. */
function heldOf({ inputTokens, cacheShare }: InspectedRequest): CacheHeld | undefined {
  return inputTokens === undefined || cacheShare === undefined
    ? undefined
    : { inputTokens, share: cacheShare };
}

function Links({ agent, sessionKey: key, request }: RequestPlace) {
  return (
    <p class="facts panel-links">
      <a href={addressOf({ page: "request", agent, key, request })}>Whole page</a>
      <a href={addressOf({ page: "diff", agent, key, request })}>Changes since the request before</a>
      <a href={addressOf({ page: "session", agent, key })}>Line of time</a>
      <a href={addressOf({ page: "compactions", agent, key })}>Compactions</a>
      <a href={addressOf({ page: "preview", agent, key })}>What would be sent next</a>
    </p>
  );
}

function SentParts({ parts, ...place }: RequestPlace & { parts: readonly InspectedPart[] }) {
  const shown = useMemo(
    () => parts.filter(({ source }) => source !== "framing" && source !== "settings"),
    [parts],
  );
  const [opened, setOpened] = useState<InspectedPart>();
  if (opened)
    return (
      <div class="panel-words">
        <PartWords {...place} part={opened} onClose={() => setOpened(undefined)} />
      </div>
    );
  return (
    <>
      <p class="facts">{plural(shown.length, "part")}, in the order in which the model reads them</p>
      <div class="panel-list">
        <VirtualList
          label="Parts of the request"
          items={shown}
          keyOf={(part) =>
            `${part.from ?? ""} ${part.at ?? ""} ${part.entryIds?.join(" ") ?? ""} ${part.source}`
          }
          onOpen={(part) => setOpened(part)}
          row={(part) => (
            <>
              <span class="row-title">
                <SourceMark source={part.source} />
                {oneLine(namedOf(part))}
              </span>
              <span class="row-facts">
                {[
                  part.tokens > 0 ? `${count(part.tokens)} tokens` : bytes(part.bytes),
                  part.cached === undefined ? "" : part.cached ? "from the cache" : "not from the cache",
                  part.trimmed ? `shortened from ${bytes(part.trimmed.fromBytes)}` : "",
                ]
                  .filter((fact) => fact !== "")
                  .join(" · ")}
              </span>
            </>
          )}
        />
      </div>
    </>
  );
}
