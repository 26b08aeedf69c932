/** One model request: its parts with their sources, the words of each, and beside them what was left out. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { requestFacts, requestTitle } from "@pagurus/api/request-facts";
import type { InspectedPart, RequestDetails } from "@pagurus/api/types";
import { CacheVerdict } from "./cache/cache-verdict.tsx";
import { ExportPanel } from "./report/export-panel.tsx";
import { LeftOut } from "./left-out.tsx";
import { useLoaded } from "./loaded.ts";
import { Notice } from "./notice.tsx";
import { Legend, SourceMark } from "./legend/explained.tsx";
import { namedOf, PartMap } from "./part-map.tsx";
import { PartWords } from "./part-words.tsx";
import { count } from "@pagurus/core/data/plain-numbers";
import { bytes, oneLine, time } from "./plain-text.ts";
import { addressOf } from "./page-route.ts";
import type { RequestPlace } from "./request-place.ts";
import { useParts } from "./request-parts.ts";
import { server } from "./server-calls.ts";
import { SourceBar } from "./source-bar.tsx";
import { VirtualList } from "./virtual-list.tsx";

const TERMS_HERE = ["tokens", "cached", "miss", "leftOut", "trimmed"] as const;

export function RequestPage(place: RequestPlace) {
  const { agent, sessionKey, request } = place;
  const { value, error } = useLoaded(
    (signal) => server.inspect.request(sessionKey, request, { agent, signal }),
    [agent, sessionKey, request],
  );
  const { parts, error: failed } = useParts(place);
  const [opened, setOpened] = useState<number>();
  useEffect(() => setOpened(undefined), [agent, sessionKey, request]);
  if (error !== undefined || failed !== undefined) return <Notice text={error ?? failed ?? ""} />;
  if (!value) return <Notice text="Loading the request …" />;
  const part = opened === undefined ? undefined : parts[opened];
  return (
    <main class="page">
      <Head details={value} parts={parts} />
      <SourceBar sums={value.sums} />
      <p class="facts">
        <a href={addressOf({ page: "diff", agent, key: sessionKey, request })}>
          Changes since the request before
        </a>
      </p>
      <CacheVerdict {...place} cache={value.request.cache} parts={parts} />
      <ExportPanel {...place} />
      <Legend sources={value.sums.map(({ source }) => source)} terms={TERMS_HERE} />
      <div class="split">
        <Parts parts={parts} onOpen={setOpened} />
        <section class="pane" aria-label={part ? "Words" : "Left out"}>
          {part ? (
            <PartWords {...place} part={part} onClose={() => setOpened(undefined)} />
          ) : (
            <LeftOut {...place} />
          )}
        </section>
      </div>
    </main>
  );
}

function Head({ details, parts }: { details: RequestDetails; parts: readonly InspectedPart[] }) {
  const { request, captured, why, body } = details;
  const covered = parts.reduce((sum, part) => sum + part.bytes, 0);
  return (
    <header class="request-head">
      <h1>{oneLine(requestTitle(request))}</h1>
      <p class="facts">
        {[time(request.at), ...requestFacts(request, ["cache", "degraded"])].map(oneLine).join(" · ")}
      </p>
      {captured && body ? (
        <p class="facts" data-covered={covered === body.bytes}>
          {count(parts.length)} parts are {count(covered)} of the body's {count(body.bytes)} bytes
        </p>
      ) : (
        <Notice text={why ?? "The body is not captured."} />
      )}
      {request.degraded === undefined ? null : <Notice text={`Degraded: ${request.degraded}`} />}
      {(body?.notes ?? []).map((note) => (
        <Notice key={note} text={note} />
      ))}
    </header>
  );
}

interface Numbered {
  index: number;
  part: InspectedPart;
}

function Parts({ parts, onOpen }: { parts: readonly InspectedPart[]; onOpen(index: number): void }) {
  const [isMap, setIsMap] = useState(false);
  const [hasFraming, setHasFraming] = useState(false);
  const shown = useMemo(
    () =>
      parts
        .map((part, index): Numbered => ({ index, part }))
        .filter(({ part }) => hasFraming || part.source !== "framing"),
    [parts, hasFraming],
  );
  return (
    <section class="pane" aria-label="Parts">
      <div class="bar">
        <button type="button" aria-pressed={!isMap} onClick={() => setIsMap(false)}>
          List
        </button>
        <button type="button" aria-pressed={isMap} onClick={() => setIsMap(true)}>
          Map
        </button>
        <label>
          <input
            type="checkbox"
            checked={hasFraming}
            onChange={({ currentTarget }) => setHasFraming(currentTarget.checked)}
          />
          JSON between the parts
        </label>
      </div>
      {isMap ? (
        <PartMap parts={parts} onOpen={onOpen} />
      ) : (
        <VirtualList
          label="Parts of the request"
          items={shown}
          keyOf={({ index }) => String(index)}
          takesFocus
          onOpen={({ index }) => onOpen(index)}
          row={({ part }) => <PartRow part={part} />}
        />
      )}
    </section>
  );
}

function PartRow({ part }: { part: InspectedPart }) {
  const { source, tokens, cached, trimmed, role, at } = part;
  return (
    <>
      <span class="row-title">
        <SourceMark source={source} />
        {oneLine(namedOf(part))}
      </span>
      <span class="row-facts">
        {[
          role === undefined || role === source ? "" : role,
          tokens > 0 ? `${count(tokens)} tokens` : "",
          bytes(part.bytes),
          cached === undefined ? "" : cached ? "from the cache" : "not from the cache",
          trimmed ? `shortened from ${bytes(trimmed.fromBytes)}` : "",
          at ?? "",
        ]
          .filter((fact) => fact !== "")
          .map(oneLine)
          .join(" · ")}
      </span>
    </>
  );
}
