/** The compactions of a session as a tree: what each summarized, who wrote it, and the way from a summary to its words. */
import { useMemo, useState } from "preact/hooks";
import type { InspectedCompaction, InspectedSummary } from "@pagurus/api/types";
import { CloseButton } from "./close-button.tsx";
import { EntryWords } from "./entry-words.tsx";
import { useLoaded } from "./loaded.ts";
import { Notice } from "./notice.tsx";
import { go } from "./page-route.ts";
import { count, dollars } from "@pagurus/core/data/plain-numbers";
import { oneLine, time, visible } from "./plain-text.ts";
import { server } from "./server-calls.ts";
import { Legend } from "./legend/explained.tsx";
import { TERMS } from "./legend/terms.ts";
import { VirtualList } from "./virtual-list.tsx";

interface Place {
  agent: string;
  sessionKey: string;
}

/** A row of the tree: a compaction, or a summary of it. */
interface TreeRow {
  compaction: InspectedCompaction;
  summary?: InspectedSummary;
  depth: number;
}

const PAGE = 1_000;

async function allCompactions(
  { agent, sessionKey }: Place,
  signal: AbortSignal,
): Promise<InspectedCompaction[]> {
  const all: InspectedCompaction[] = [];
  for (let before: string | undefined; ;) {
    const page = await server.inspect.compactions(sessionKey, { agent, before, limit: PAGE, signal });
    all.unshift(...page.compactions);
    if (page.next === undefined) return all;
    before = page.next;
  }
}

/** The newest compaction first; below each the summaries that its context shows, and those that they were made of. */
function rowsOf(compactions: readonly InspectedCompaction[]): TreeRow[] {
  return compactions.toReversed().flatMap((compaction): TreeRow[] => {
    const byId = new Map(compaction.summaries.map((summary) => [summary.id, summary]));
    const below = (summary: InspectedSummary, depth: number): TreeRow[] => [
      { compaction, summary, depth },
      ...summary.children.flatMap((id) => {
        const child = byId.get(id);
        return child ? below(child, depth + 1) : [];
      }),
    ];
    const shown = compaction.summaries.filter(({ isShown }) => isShown);
    return [{ compaction, depth: 0 }, ...shown.flatMap((summary) => below(summary, 1))];
  });
}

export function CompactionsPage(place: Place) {
  const { agent, sessionKey } = place;
  const { value, error } = useLoaded((signal) => allCompactions(place, signal), [agent, sessionKey]);
  const rows = useMemo(() => rowsOf(value ?? []), [value]);
  const [opened, setOpened] = useState<TreeRow>();
  if (error !== undefined) return <Notice text={error} />;
  if (!value) return <Notice text="Loading the compactions …" />;
  if (rows.length === 0) return <Notice text="The session was not compacted yet." />;
  return (
    <main class={opened ? "page split" : "page"}>
      <section class="pane" aria-label="Compactions">
        <Legend terms={["compaction", "leaf", "extractive", "epoch", "lane"]} />
        <VirtualList
          label="Compactions and summaries"
          items={rows}
          keyOf={({ compaction, summary }) => `${compaction.entryId} ${summary?.id ?? ""}`}
          takesFocus
          onOpen={(row) => setOpened(row)}
          row={(row) => <Row row={row} />}
        />
      </section>
      {opened ? (
        <section class="pane" aria-label="Words">
          <Opened {...place} row={opened} onClose={() => setOpened(undefined)} />
        </section>
      ) : null}
    </main>
  );
}

function summaryTitle({ depth, children }: InspectedSummary): string {
  return depth === 0 ? TERMS.leaf.name : `Summary of ${children.length} summaries`;
}

function Row({ row: { compaction, summary, depth } }: { row: TreeRow }) {
  const { at, handledBy, lane, tokensBefore, tokensAfter, cost } = compaction;
  const title = summary
    ? summaryTitle(summary)
    : `${count(tokensBefore)} tokens${tokensAfter === undefined ? "" : ` became ${count(tokensAfter)}`}`;
  const facts = summary
    ? [
        summary.model ??
          (summary.origin === "extractive" ? TERMS.extractive.name.toLowerCase() : summary.origin),
        `${count(summary.sourceTokens)} tokens became ${count(summary.tokens)}`,
        summary.isShown ? "shown to the model" : "inside the one above",
      ]
    : [handledBy ?? "", lane ?? "", cost === undefined ? "" : dollars(cost), time(at)];
  return (
    <>
      <span class="row-title" style={{ paddingLeft: `${depth * 1.2}rem` }}>
        <span class="mark" data-kind={summary ? "summary" : "compaction"}>
          {summary ? "summary" : "compaction"}
        </span>
        {oneLine(title)}
      </span>
      <span class="row-facts" style={{ paddingLeft: `${depth * 1.2}rem` }}>
        {facts
          .filter((fact) => fact !== "")
          .map(oneLine)
          .join(" · ")}
      </span>
    </>
  );
}

function Opened({ agent, sessionKey, row, onClose }: Place & { row: TreeRow; onClose(): void }) {
  const { compaction, summary } = row;
  const { firstRequest } = compaction;
  const open = (entry: string): void => go({ page: "session", agent, key: sessionKey, entry });
  return (
    <>
      <div class="bar">
        <CloseButton onClose={onClose} />
        {firstRequest === undefined ? null : (
          <button
            type="button"
            onClick={() => go({ page: "request", agent, key: sessionKey, request: firstRequest })}
          >
            First request with it
          </button>
        )}
        {summary ? (
          <>
            <button type="button" onClick={() => open(summary.firstEntryId)}>
              First words
            </button>
            <button type="button" onClick={() => open(summary.lastEntryId)}>
              Last words
            </button>
          </>
        ) : null}
      </div>
      {summary ? (
        <SummaryText agent={agent} sessionKey={sessionKey} entryId={compaction.entryId} id={summary.id} />
      ) : (
        <EntryWords agent={agent} sessionKey={sessionKey} entryId={compaction.entryId} />
      )}
    </>
  );
}

function SummaryText({ agent, sessionKey, entryId, id }: Place & { entryId: string; id: string }) {
  const { value, error } = useLoaded(
    (signal) => server.inspect.summary(sessionKey, { agent, entryId, id, signal }),
    [agent, sessionKey, entryId, id],
  );
  if (error !== undefined) return <Notice text={error} />;
  if (value === undefined) return <Notice text="Loading the summary …" />;
  return (
    <>
      <h2>The summary, as the model reads it</h2>
      <pre class="words" tabIndex={0} aria-label="Words of the summary">
        {visible(value)}
      </pre>
    </>
  );
}
