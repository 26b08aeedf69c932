/** What a compaction entry of the transcript says of itself, with the summaries that an engine recorded in it. */
import type { InspectedCompaction, InspectedSummary } from "@pagurus/api/types";
import type { CompactionEntry } from "@pagurus/contract/session/transcript";
import { asRecord, asString, countOf, listOf, recordsOf } from "@pagurus/core/data/record-fields";
import { defined } from "@pagurus/core/data/defined";

export function compactionRecord(entry: CompactionEntry): InspectedCompaction {
  const details = asRecord(entry.details) ?? {};
  const epoch = asRecord(details["epoch"]) ?? {};
  const shown = new Set(listOf(details["frontier"]));
  const id = asString(epoch["id"]);
  const split = entry.splitTurnInputId ?? asString(epoch["splitInputId"]);
  const { lane, trigger, handledBy, origin, tokensBefore, tokensAfter, usage } = entry;
  return {
    entryId: entry.id,
    at: entry.timestamp,
    ...defined({ epoch: id, lane, trigger, handledBy }),
    origin,
    tokensBefore,
    ...defined({ tokensAfter, cost: usage?.cost }),
    firstKeptEntryId: entry.firstKeptEntryId,
    ...defined({ splitInputId: split }),
    summaries: recordsOf(details["nodes"]).flatMap((node) => summaryFact(node, shown)),
    obsolete: Object.fromEntries(
      Object.entries(asRecord(epoch["stubs"]) ?? {}).map(([key, stub]) => [
        key,
        asString(asRecord(stub)?.["by"]) ?? "",
      ]),
    ),
  };
}

function summaryFact(
  node: Readonly<Record<string, unknown>>,
  shown: ReadonlySet<unknown>,
): InspectedSummary[] {
  const [id, firstEntryId, lastEntryId] = ["nodeId", "firstEntryId", "lastEntryId"].map((name) =>
    asString(node[name]),
  );
  if (id === undefined || firstEntryId === undefined || lastEntryId === undefined) return [];
  const model = asString(node["model"]);
  return [
    {
      id,
      kind: asString(node["kind"]) ?? "leaf",
      depth: countOf(node["depth"]) ?? 0,
      firstEntryId,
      lastEntryId,
      children: listOf(node["children"]).filter((child) => typeof child === "string"),
      origin: asString(node["origin"]) ?? "engine",
      ...defined({ model }),
      tokens: countOf(node["tokens"]) ?? 0,
      sourceTokens: countOf(node["sourceTokens"]) ?? 0,
      isShown: shown.has(id),
    },
  ];
}

/** The text of a summary that a compaction entry records; undefined for an unknown id. */
export function summaryText(entry: CompactionEntry, id: string): string | undefined {
  const node = recordsOf(asRecord(entry.details)?.["nodes"]).find((each) => each["nodeId"] === id);
  return node && asString(node["text"]);
}
