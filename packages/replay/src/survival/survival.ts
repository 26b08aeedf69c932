/** What of a session is in the context after compactions, or in one answer of the engine's search tool. */
import { toPagurusError } from "@pagurus/contract/errors";
import type { PromptBlocks } from "../context-policy.ts";
import { EngineDriver } from "../engine/engine-driver.ts";
import type { EngineOptions } from "../engine/driver-params.ts";
import { textOfMessage } from "../prompt-blocks.ts";
import type { Pace } from "@pagurus/core/platform/pace";
import { tokensOf, type ModelCall, type RecordedSession } from "../recorded-session.ts";
import { searchTool, type ReplayedEngine } from "../replayed-engine.ts";
import { ITEM_KINDS, onOneLine, type ItemKind, type SurvivalItem } from "./survival-items.ts";

/** Compactions after which the items are looked for. */
export const SURVIVAL_AFTER = [1, 5] as const;
const COMPACTED_TIMES = 5;
/** Tokens between two compactions: less is not worth one. */
const LEAST_STEP = 2_000;
/** Largest share of the window between two compactions. */
const MOST_STEP = 0.5;
/** Characters of an error that are kept. */
const LONGEST_ERROR = 200;

export interface Survived {
  items: number;
  inContext: number;
  /** In the context, or in the answer to one call of the search tool. */
  reachable: number;
}

export type Survival = Record<ItemKind, Survived>;

/** Counts by the number of compactions. */
export type SurvivalCounts = Record<(typeof SURVIVAL_AFTER)[number], Survival> & { failed: FailedSearches };

/** Searches of the engine that failed; they count as such that found nothing. */
export interface FailedSearches {
  searches: number;
  /** Error of the first one. */
  first?: string;
}

export function noSurvival(): SurvivalCounts {
  const none = (): Survival =>
    Object.fromEntries(
      ITEM_KINDS.map((kind) => [kind, { items: 0, inContext: 0, reachable: 0 }]),
    ) as Survival;
  return { 1: none(), 5: none(), failed: { searches: 0 } };
}

/**
 * The calls before which a session is compacted, the same for every engine: at equal distances, and less than a window apart. Empty
 * for a session that is too short for five compactions.
 */
export function compactedCalls(session: RecordedSession, window: number): ModelCall[] {
  const before = [0];
  for (const message of session.messages) before.push((before.at(-1) ?? 0) + tokensOf(session, message));
  const step = Math.min((before.at(-1) ?? 0) / (COMPACTED_TIMES + 1), MOST_STEP * window);
  if (step < LEAST_STEP) return [];
  const calls: ModelCall[] = [];
  for (const call of session.calls) {
    if ((before[call.end] ?? 0) >= step * (calls.length + 1) && calls.length < COMPACTED_TIMES)
      calls.push(call);
  }
  return calls.length === COMPACTED_TIMES ? calls : [];
}

export interface SurvivalOptions extends EngineOptions {
  /** Items of a kind that are looked for, spread over what was before the compaction. */
  most: number;
  pace: Pace;
  signal: AbortSignal;
}

/** Replays a session with compactions before `calls` and looks for its items. */
export async function survivalOf(
  engine: ReplayedEngine,
  session: RecordedSession,
  { calls, items }: { calls: readonly ModelCall[]; items: readonly SurvivalItem[] },
  options: SurvivalOptions,
): Promise<SurvivalCounts> {
  const counts = noSurvival();
  const last = calls.at(-1);
  if (!last) return counts;
  const driver = await EngineDriver.open(engine.create, options, session);
  try {
    let compacted = 0;
    for (const call of session.calls) {
      if (call === calls[compacted]) {
        compacted++;
        await driver.compactNow(call);
        const prompt = await driver.assemble(call);
        for (const after of SURVIVAL_AFTER) {
          if (after !== compacted) continue;
          const sample = sampleOf(items, call.end, options.most);
          const search = searchOf(engine, counts.failed, { cwd: driver.dir, signal: options.signal });
          await look(counts[after], { sample, prompt, search }, options.pace);
        }
      }
      if (call === last) break;
      await driver.settle(call);
      if (options.pace.due) await options.pace.rest();
    }
  } finally {
    await driver.close();
  }
  return counts;
}

/** Of each kind at most so many items from before a message, by its index, at equal distances. */
export function sampleOf(items: readonly SurvivalItem[], end: number, most: number): SurvivalItem[] {
  return ITEM_KINDS.flatMap((kind) => {
    const known = items.filter((item) => item.kind === kind && item.at < end);
    const count = Math.min(most, known.length);
    return Array.from({ length: count }, (_, nth) => known[Math.floor((nth * known.length) / count)]).filter(
      (item) => item !== undefined,
    );
  });
}

async function look(
  counts: Survival,
  { sample, prompt, search }: { sample: readonly SurvivalItem[]; prompt: PromptBlocks; search: Search },
  pace: Pace,
): Promise<void> {
  const context = onOneLine([prompt.addition ?? "", ...prompt.messages.map(textOfMessage)].join("\n"));
  for (const { kind, text, query } of sample) {
    const count = counts[kind];
    const isThere = context.includes(text);
    count.items++;
    if (isThere) count.inContext++;
    if (isThere || (await search(query)).includes(text)) count.reachable++;
    if (pace.due) await pace.rest();
  }
}

/** Returns the text of one call of the search tool; empty if the call fails. Throws only after an abort. */
type Search = (query: string) => Promise<string>;

/** A search without a search tool finds nothing. */
function searchOf(
  { tools }: ReplayedEngine,
  failed: FailedSearches,
  place: { cwd: string; signal: AbortSignal },
): Search {
  const search = searchTool(tools);
  if (!search) return () => Promise.resolve("");
  const context = { sessionKey: "main", sessionId: "replay", ...place };
  return async (query) => {
    try {
      const { content, isError } = await search.tool.execute({ [search.parameter]: query }, context);
      const text = onOneLine(content.map((part) => (part.type === "text" ? part.text : "")).join("\n"));
      if (isError !== true) return text;
      noteFailure(failed, text);
    } catch (error) {
      if (place.signal.aborted) throw error;
      noteFailure(failed, toPagurusError(error).message);
    }
    return "";
  };
}

function noteFailure(failed: FailedSearches, message: string): void {
  failed.searches++;
  failed.first ??= message.slice(0, LONGEST_ERROR);
}
