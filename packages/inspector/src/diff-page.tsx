/** The changes between a request and the one before it: the first byte that differs, what it cost, and each part. */
import { useEffect, useState } from "preact/hooks";
import type { ChangedPart, InspectedPart, RequestDiff } from "@pagurus/api/types";
import { useLoaded } from "./loaded.ts";
import { Notice } from "./notice.tsx";
import { PartChange } from "./part-change.tsx";
import { labelOf } from "./part-map.tsx";
import { addressOf } from "./page-route.ts";
import { count } from "@pagurus/core/data/plain-numbers";
import { bytes, oneLine } from "./plain-text.ts";
import type { RequestPlace } from "./request-place.ts";
import { useParts } from "./request-parts.ts";
import { server } from "./server-calls.ts";
import { VirtualList } from "./virtual-list.tsx";

export function DiffPage(place: RequestPlace) {
  const { agent, sessionKey, request } = place;
  const { value: diff, error } = useLoaded(
    (signal) => server.inspect.diff(sessionKey, request, { agent, signal }),
    [agent, sessionKey, request],
  );
  const { value: details } = useLoaded(
    (signal) => server.inspect.request(sessionKey, request, { agent, signal }),
    [agent, sessionKey, request],
  );
  const [opened, setOpened] = useState<ChangedPart>();
  useEffect(() => setOpened(undefined), [agent, sessionKey, request]);
  const after = useParts(diff?.captured ? place : {});
  const before = useParts(diff?.captured ? { ...place, request: diff.before } : {});
  if (error !== undefined) return <Notice text={error} />;
  if (!diff) return <Notice text="Comparing the requests …" />;
  const miss = details?.request.cache?.miss;
  return (
    <main class="page">
      <header class="request-head">
        <h1>Changes</h1>
        <p class="facts">
          since{" "}
          <a href={addressOf({ page: "request", agent, key: sessionKey, request: diff.before })}>
            {oneLine(diff.before)}
          </a>
          {miss ? ` · cache miss: ${miss.cause}, ${count(miss.missedTokens)} tokens` : ""}
        </p>
        {diff.captured ? (
          <p class="facts" data-first-byte={diff.firstByte}>
            {firstChange(diff, after.parts)}
          </p>
        ) : (
          <Notice text={diff.why ?? "The bodies are not captured."} />
        )}
      </header>
      <div class="split">
        <section class="pane" aria-label="Changed parts">
          {(diff.changes ?? []).length === 0 ? (
            <Notice text="No part has changed." />
          ) : (
            <VirtualList
              label="Changed parts"
              items={diff.changes ?? []}
              keyOf={({ before: from, after: to }) => `${from} ${to}`}
              takesFocus
              onOpen={(change) => setOpened(change)}
              row={(change) => <ChangeRow change={change} before={before.parts} after={after.parts} />}
            />
          )}
        </section>
        <section class="pane" aria-label="Words">
          {opened ? (
            <PartChange
              {...place}
              change={opened.change}
              before={{ request: diff.before, part: partAt(before.parts, opened.before) }}
              after={{ request, part: partAt(after.parts, opened.after) }}
              onClose={() => setOpened(undefined)}
            />
          ) : (
            <Notice text="Open a part to see what changed in it." />
          )}
        </section>
      </div>
    </main>
  );
}

function partAt(parts: readonly InspectedPart[], index: number | undefined): InspectedPart | undefined {
  return index === undefined ? undefined : parts[index];
}

function firstChange(diff: RequestDiff, parts: readonly InspectedPart[]): string {
  if (diff.firstByte === undefined) return "The bodies are equal, byte for byte.";
  const part = partAt(parts, diff.firstPart);
  const where = part ? `in “${labelOf(part)}”` : "where the later request ends";
  const cost = `the ${count(diff.sharedTokens ?? 0)} tokens before it can come from the provider's cache, the ${count(diff.restTokens ?? 0)} after it cannot`;
  return oneLine(`The two are equal up to byte ${count(diff.firstByte)}, ${where}: ${cost}.`);
}

interface ChangeRowProps {
  change: ChangedPart;
  before: readonly InspectedPart[];
  after: readonly InspectedPart[];
}

function ChangeRow({ change, before, after }: ChangeRowProps) {
  const [was, is] = [partAt(before, change.before), partAt(after, change.after)];
  const part = is ?? was;
  const size =
    was && is && was.bytes !== is.bytes
      ? `${bytes(was.bytes)} to ${bytes(is.bytes)}`
      : bytes(part?.bytes ?? 0);
  return (
    <>
      <span class="row-title">
        <span class="mark" data-change={change.change}>
          {change.change}
        </span>
        {oneLine(part ? labelOf(part) : "…")}
      </span>
      <span class="row-facts">
        {[size, part && part.tokens > 0 ? `${count(part.tokens)} tokens` : ""]
          .filter((fact) => fact !== "")
          .join(" · ")}
      </span>
    </>
  );
}
