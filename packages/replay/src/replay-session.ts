/** Replays one session with one engine, and counts the figures of `pagurus context replay`. */
import type { Pace } from "@pagurus/core/platform/pace";
import { engineContextPolicy } from "./engine/engine-policy.ts";
import { measure } from "./prompt-meter.ts";
import type { RecordedSession } from "./recorded-session.ts";
import type { ReplayedEngine } from "./replayed-engine.ts";
import { ITEM_KINDS, survivalItems, type SurvivalItem } from "./survival/survival-items.ts";
import {
  compactedCalls,
  noSurvival,
  SURVIVAL_AFTER,
  survivalOf,
  type SurvivalCounts,
} from "./survival/survival.ts";
import { argumentsText, WantedStrings } from "./wanted-strings.ts";

/** Sums over sessions, which add up. */
export interface ReplayCounts {
  calls: number;
  /** Tokens of all prompts. */
  tokens: number;
  largest: number;
  /** Token equivalents: reads from a cache at 0.1, what is written to it at 1.25. */
  cost: number;
  compactions: number;
  brokenPrefixes: number;
  /** Prompts that are invalid, lack live input, hold a message twice, or exceed the window. */
  faulty: number;
  /** Strings in the arguments of the calls that came next, and those of them in the context. */
  next: { strings: number; seen: number; far: number; farSeen: number };
  /** Sessions that were also replayed with five compactions. */
  compacted: number;
  survival: SurvivalCounts;
}

export function noCounts(): ReplayCounts {
  const sums = { calls: 0, tokens: 0, largest: 0, cost: 0, compactions: 0, brokenPrefixes: 0, faulty: 0 };
  const next = { strings: 0, seen: 0, far: 0, farSeen: 0 };
  return { ...sums, next, compacted: 0, survival: noSurvival() };
}

/** Adds the counts of a session to a sum. */
export function addCounts(sum: ReplayCounts, more: ReplayCounts): void {
  for (const key of [
    "calls",
    "tokens",
    "cost",
    "compactions",
    "brokenPrefixes",
    "faulty",
    "compacted",
  ] as const)
    sum[key] += more[key];
  sum.largest = Math.max(sum.largest, more.largest);
  for (const key of ["strings", "seen", "far", "farSeen"] as const) sum.next[key] += more.next[key];
  const { failed } = sum.survival;
  failed.searches += more.survival.failed.searches;
  if (more.survival.failed.first !== undefined) failed.first ??= more.survival.failed.first;
  for (const after of SURVIVAL_AFTER) {
    for (const kind of ITEM_KINDS) {
      const [into, from] = [sum.survival[after][kind], more.survival[after][kind]];
      into.items += from.items;
      into.inContext += from.inContext;
      into.reachable += from.reachable;
    }
  }
}

/** A session with what is equal for every engine. */
export interface PreparedSession {
  session: RecordedSession;
  wanted: WantedStrings;
  /** Empty where no items are looked for. */
  items: readonly SurvivalItem[];
}

export async function prepareSession(session: RecordedSession, pace: Pace): Promise<PreparedSession> {
  const wanted = await WantedStrings.of(session, argumentsText, pace);
  return { session, wanted, items: await survivalItems(session.messages, pace) };
}

export interface ReplayOptions {
  /** Tokens of the model's window. */
  window: number;
  /** Items of a kind that are looked for after a number of compactions. */
  most: number;
  pace: Pace;
  signal: AbortSignal;
  /** Called after each replayed model call, with the share of the work that is done. */
  onProgress?(share: number): void;
}

/** Share of the work that is the replay of every call; the rest is the replay for survival. */
const CALLS_SHARE = 0.8;

/** Throws the engine's errors, and `turn_aborted` when the signal aborts. */
export async function replaySession(
  engine: ReplayedEngine,
  { session, wanted, items }: PreparedSession,
  options: ReplayOptions,
): Promise<ReplayCounts> {
  const { window, pace, onProgress } = options;
  const engineOptions = { window, config: engine.config, tools: engine.tools.map(({ name }) => name) };
  const policy = engineContextPolicy(engine.id, engine.create, engineOptions);
  const measured = await measure(policy, session, wanted, async (call) => {
    onProgress?.((CALLS_SHARE * (call.index + 1)) / session.calls.length);
    if (pace.due) await pace.rest();
  });
  const calls = items.length === 0 ? [] : compactedCalls(session, window);
  const survival = await survivalOf(engine, session, { calls, items }, { ...engineOptions, ...options });
  onProgress?.(1);
  const { brokenPrefixes, invalidPrompts, lackingLiveInput, duplicates, overLimit } = measured;
  return {
    calls: measured.calls,
    tokens: measured.meanContext * measured.calls,
    largest: measured.largestContext,
    cost: measured.cost * 1e6,
    compactions: measured.compactions,
    brokenPrefixes,
    faulty: invalidPrompts + lackingLiveInput + duplicates + overLimit,
    next: measured.strings,
    compacted: calls.length === 0 ? 0 : 1,
    survival,
  };
}
