/** What a compaction entry of the transcript says of itself, with the summaries that an engine recorded in it. */
import type { CompactionEntry } from "@pagurus/contract/session/transcript";
import { asRecord, asString, countOf, listOf, recordsOf } from "@pagurus/core/data/record-fields";

/** A summary, without its text. Tokens are estimates. */
export interface SummaryFact {
  id: string;
  kind: string;
  /** 0 for a summary of words, else of other summaries. */
  depth: number;
  /** First and last entry that it covers, both inclusive. */
  firstEntryId: string;
  lastEntryId: string;
  /** Ids of the summaries that it was made of, in order. */
  children: string[];
  /** Who wrote it: `model`, `extractive`, `engine`. */
  origin: string;
  /** `provider/model`, where a model wrote it. */
  model?: string;
  tokens: number;
  sourceTokens: number;
  /** Whether the context shows it itself, and not only a summary above it. */
  isShown: boolean;
}

export interface CompactionRecord {
  entryId: string;
  /** ISO 8601. */
  at: string;
  /** Id of the epoch that it began; absent for one that records none. */
  epoch?: string;
  lane?: string;
  trigger?: string;
  handledBy?: string;
  origin: string;
  tokensBefore: number;
  tokensAfter?: number;
  /** Of the model calls that made the summary, US dollars. */
  cost?: number;
  firstKeptEntryId: string;
  /** Input of a live turn that was cut, which stays verbatim. */
  splitInputId?: string;
  summaries: SummaryFact[];
  /** Entries (or `entry/call`) of the kept part that a short text replaces, since a later entry made them obsolete. */
  obsolete: Record<string, string>;
}

export function compactionRecord(entry: CompactionEntry): CompactionRecord {
  const details = asRecord(entry.details) ?? {};
  const epoch = asRecord(details["epoch"]) ?? {};
  const shown = new Set(listOf(details["frontier"]));
  const id = asString(epoch["id"]);
  const split = entry.splitTurnInputId ?? asString(epoch["splitInputId"]);
  const { lane, trigger, handledBy, origin, tokensBefore, tokensAfter, usage } = entry;
  return {
    entryId: entry.id,
    at: entry.timestamp,
    ...(id === undefined ? {} : { epoch: id }),
    ...(lane === undefined ? {} : { lane }),
    ...(trigger === undefined ? {} : { trigger }),
    ...(handledBy === undefined ? {} : { handledBy }),
    origin,
    tokensBefore,
    ...(tokensAfter === undefined ? {} : { tokensAfter }),
    ...(usage?.cost === undefined ? {} : { cost: usage.cost }),
    firstKeptEntryId: entry.firstKeptEntryId,
    ...(split === undefined ? {} : { splitInputId: split }),
    summaries: recordsOf(details["nodes"]).flatMap((node) => summaryFact(node, shown)),
    obsolete: Object.fromEntries(
      Object.entries(asRecord(epoch["stubs"]) ?? {}).map(([key, stub]) => [
        key,
        asString(asRecord(stub)?.["by"]) ?? "",
      ]),
    ),
  };
}

function summaryFact(node: Readonly<Record<string, unknown>>, shown: ReadonlySet<unknown>): SummaryFact[] {
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
      ...(model === undefined ? {} : { model }),
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
