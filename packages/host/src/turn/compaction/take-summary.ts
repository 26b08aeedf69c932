/** Makes a summary the session's new head, when it is acceptable. */
import type { Usage } from "@pagurus/contract/message";
import { isPagurusError } from "@pagurus/contract/errors";
import { renderSummary } from "@pagurus/contract/engine/summary";
import type { CompactionEntry, NewEntry } from "@pagurus/contract/session/transcript";
import { checkCut } from "@pagurus/core/compaction/cut-check";
import { leastGain } from "@pagurus/core/compaction/runtime-plan";
import { readContext } from "../context/context-slice.ts";
import { splitLive } from "../context/live-messages.ts";
import { shortLine } from "../guard/plugin-failure.ts";
import { contextTokens, type LaneFacts, type LaneScope } from "./lane-scope.ts";
import { defined } from "@pagurus/core/data/defined";

export interface Summary {
  text: string;
  firstKeptEntryId: string;
  /** The input of the turn that is cut, when the author of the summary named it. */
  splitTurnInputId?: string | undefined;
  tokensBefore: number;
  origin: CompactionEntry["origin"];
  handledBy: string;
  /** Usage of the model calls that made it. */
  usage?: Usage | undefined;
  details?: unknown;
}

/** Both counts are of the messages as sent; of a context that was not read whole, its author's count before. */
export type Taken = { tokensBefore: number; tokensAfter: number } | { refused: string };

/** Writes nothing when it refuses. Throws what the writer throws. */
export function takeSummary(scope: LaneScope, facts: LaneFacts, summary: Summary): Taken {
  const { session, model } = scope;
  const { writer } = session;
  const { messages, complete } = readContext(writer, model.contextWindow);
  const inputEntryId = scope.recorder?.inputEntryId;
  const liveStart = splitLive(messages, inputEntryId).history.length;
  const cut = checkCut({ messages, liveStart, firstKeptEntryId: summary.firstKeptEntryId });
  // Entries before the part that was read are older than any cut that could split something here.
  const older =
    "reason" in cut && !complete && isOlder(scope, summary.firstKeptEntryId, messages[0]?.entryId);
  if ("reason" in cut && !older) return { refused: cut.reason };
  const split = "reason" in cut ? undefined : cut.splitTurnInputId;
  const moved = "reason" in cut ? undefined : cut.firstKeptEntryId;
  const firstKeptEntryId = moved ?? summary.firstKeptEntryId;
  // An input that is kept after the summary is named as well as one that comes before it.
  const named = split ?? firstKeptEntryId;
  if (summary.splitTurnInputId !== undefined && summary.splitTurnInputId !== named) {
    return { refused: "it names another input than that of the turn that it cuts" };
  }
  const kept = "reason" in cut ? messages : messages.slice(cut.index);
  const head = { role: "user" as const, content: renderSummary(summary.text) };
  const input = split === undefined ? [] : messages.filter(({ entryId }) => entryId === split).slice(0, 1);
  const tokensAfter = contextTokens(scope, [...input, head, ...kept]);
  const present = contextTokens(scope, messages);
  const gain = present - tokensAfter;
  const tokensBefore = complete ? present : summary.tokensBefore;
  if (complete && gain <= 0) return { refused: "the summary would not make the context smaller" };
  // A requested compaction accepts any gain; the run's own checks must not repeat after a round or two.
  if (complete && facts.trigger === "threshold" && gain < leastGain(gain + tokensAfter)) {
    return { refused: `of ${gain + tokensAfter} tokens ${tokensAfter} would be left: too little is gained` };
  }
  const entry: NewEntry = {
    type: "compaction",
    summary: summary.text,
    firstKeptEntryId,
    ...defined({ splitTurnInputId: split }),
    tokensBefore,
    tokensAfter,
    origin: summary.origin,
    lane: facts.lane,
    trigger: facts.trigger,
    handledBy: summary.handledBy,
    ...defined({ usage: summary.usage, details: summary.details }),
  };
  try {
    writer.append(entry);
  } catch (error) {
    if (isPagurusError(error)) throw error;
    return { refused: "its details cannot be written as JSON" };
  }
  // A summary that cuts the live turn itself is useless without it.
  if (scope.recorder && (split === undefined || split !== inputEntryId)) scope.recorder.compaction = entry;
  noteExtract(scope, summary);
  return { tokensBefore, tokensAfter };
}

/** Reports an extract written in place of a model's summary: nothing degrades silently. */
function noteExtract({ guard }: LaneScope, { origin, details }: Summary): void {
  const { modelError } = (details ?? {}) as { modelError?: unknown };
  if (origin !== "extractive" || typeof modelError !== "string") return;
  const reason = shortLine(`the summary is an extract, because its model failed: ${modelError}`);
  // It begins with the error's code.
  guard.degrade("compact", reason, /^\w+(?=:)/.exec(modelError)?.[0]);
}

/** By the order of the lines: ids of an engine's own transcript have no order. */
function isOlder(scope: LaneScope, entryId: string, oldestRead: string | undefined): boolean {
  const { writer } = scope.session;
  const place = writer.place(entryId);
  const read = oldestRead === undefined ? undefined : writer.place(oldestRead);
  return place?.messagePosition !== undefined && read !== undefined && place.rawSeq < read.rawSeq;
}
