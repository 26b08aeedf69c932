/** Replays a session under a policy and measures the requests (M3, M5-M8). */
import { isValidSequence } from "@pagurus/core/compaction/tool-pairing";
import type { Block } from "./prompt-blocks.ts";
import type { WantedStrings } from "./wanted-strings.ts";
import { STATIC_TOKENS, type ContextPolicy, type PromptBlocks } from "./context-policy.ts";
import type { ModelCall, RecordedSession } from "./recorded-session.ts";

/** Prices relative to a token of input that is neither read from a cache nor written to it. */
const READ = 0.1;
const WRITE = 1.25;
/** Shortest lifetime of a provider's cache, ms. */
const CACHE_LIFE_MS = 300_000;

export interface Measured {
  policy: string;
  calls: number;
  /** C, in million token equivalents. */
  cost: number;
  /** The same where a prefix is lost after five minutes without a call. */
  costOfShortCache: number;
  /** I / C. */
  cacheEfficiency: number;
  /** C / tokens sent. */
  effectiveInputCost: number;
  /** Mean share of a prompt that is a prefix of the one before. */
  prefixStability: number;
  /** Tokens, the static prefix included. */
  meanContext: number;
  largestContext: number;
  /** M3: all strings, and those last seen more than 30 blocks ago; 1 where there were none. */
  coverage: number;
  farCoverage: number;
  farStrings: number;
  /** The same as numbers of strings. */
  strings: { strings: number; seen: number; far: number; farSeen: number };
  /** Changes of epoch. */
  compactions: number;
  /** Prompts that do not begin with the prompt before them although the epoch is the same. */
  brokenPrefixes: number;
  /** M6. */
  invalidPrompts: number;
  /** M7: prompts that lack live input, and prompts with a message more often than it occurs in the history. */
  lackingLiveInput: number;
  duplicates: number;
  /** M8, and the share of the limit that is free while older history is not sent. */
  overLimit: number;
  underUse: number;
}

const PREFIX: Block = { id: 0, tokens: STATIC_TOKENS, text: "" };

function tokensIn(blocks: readonly Block[]): number {
  return blocks.reduce((sum, block) => sum + block.tokens, 0);
}

function sharedBlocks(before: readonly Block[], now: readonly Block[]): number {
  let shared = 0;
  while (shared < before.length && before[shared]?.id === now[shared]?.id) shared++;
  return Math.min(shared, now.length);
}

/** How often each block occurs in a list. */
function countsOf(blocks: readonly Block[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { id } of blocks) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

interface Last {
  blocks: readonly Block[];
  epoch: string;
  at: number;
}

/** Adds up one prompt after the other. */
export class Meter {
  readonly #session: RecordedSession;
  readonly #wanted: WantedStrings;
  readonly #limit: number;
  /** Blocks of the history so far, by id. */
  readonly #occurrences = new Map<number, number>();
  #saidMessages = 0;
  /** Maximum number of occurrences of a block in one prompt: each was once written to the cache. */
  readonly #written = new Map<number, number>();
  #last: Last | undefined;
  readonly #sums = {
    calls: 0,
    cost: 0,
    short: 0,
    ideal: 0,
    tokens: 0,
    stability: 0,
    largest: 0,
    seen: 0,
    wanted: 0,
    farSeen: 0,
    farWanted: 0,
    compactions: 0,
    broken: 0,
    invalid: 0,
    lacking: 0,
    duplicates: 0,
    over: 0,
    free: 0,
    partial: 0,
  };

  constructor(session: RecordedSession, wanted: WantedStrings, limit: number) {
    this.#session = session;
    this.#wanted = wanted;
    this.#limit = limit;
  }

  add(call: ModelCall, prompt: PromptBlocks): void {
    const { blocks: split } = this.#wanted;
    const messages = prompt.messages.flatMap((message) => split.of(message));
    const addition = prompt.addition ? [split.text(prompt.addition)] : [];
    const blocks = [...addition, PREFIX, ...messages];
    this.#addHistory(call);
    this.#caching(blocks, prompt.epoch, call.at);
    this.#strings(call, [...addition, ...messages]);
    this.#validity(call, prompt, messages);
    const tokens = tokensIn(blocks);
    const sums = this.#sums;
    sums.calls++;
    sums.tokens += tokens;
    sums.largest = Math.max(sums.largest, tokens);
    if (tokens > this.#limit) sums.over++;
    if (prompt.messages.length < call.end && this.#limit !== Infinity) {
      sums.partial++;
      sums.free += Math.max(0, 1 - tokens / this.#limit);
    }
  }

  /** Adds the messages before the call. */
  #addHistory(call: ModelCall): void {
    for (; this.#saidMessages < call.end; this.#saidMessages++) {
      const message = this.#session.messages[this.#saidMessages];
      for (const { id } of message ? this.#wanted.blocks.of(message) : []) {
        this.#occurrences.set(id, (this.#occurrences.get(id) ?? 0) + 1);
      }
    }
  }

  #caching(blocks: readonly Block[], epoch: string, at: number): void {
    const sums = this.#sums;
    const last = this.#last;
    const tokens = tokensIn(blocks);
    const shared = last ? sharedBlocks(last.blocks, blocks) : 0;
    const prefix = tokensIn(blocks.slice(0, shared));
    sums.cost += READ * prefix + WRITE * (tokens - prefix);
    const kept = last && at - last.at <= CACHE_LIFE_MS ? prefix : 0;
    sums.short += READ * kept + WRITE * (tokens - kept);
    const now = new Map<number, number>();
    for (const block of blocks) {
      const nth = (now.get(block.id) ?? 0) + 1;
      now.set(block.id, nth);
      const fresh = nth > (this.#written.get(block.id) ?? 0);
      if (fresh) this.#written.set(block.id, nth);
      sums.ideal += (fresh ? WRITE : READ) * block.tokens;
    }
    if (last) {
      sums.stability += tokens === 0 ? 0 : prefix / tokens;
      if (last.epoch !== epoch) sums.compactions++;
      else if (shared < last.blocks.length) sums.broken++;
    }
    this.#last = { blocks, epoch, at };
  }

  #strings(call: ModelCall, blocks: readonly Block[]): void {
    const sums = this.#sums;
    const ids = new Set(blocks.map(({ id }) => id));
    const made = blocks.filter(({ id }) => !this.#occurrences.has(id));
    for (const { value, far, holders } of this.#wanted.of(call)) {
      let seen = holdsAny(ids, holders);
      seen ||= made.some(({ text }) => text.includes(value));
      sums.wanted++;
      if (seen) sums.seen++;
      if (!far) continue;
      sums.farWanted++;
      if (seen) sums.farSeen++;
    }
  }

  #validity(call: ModelCall, prompt: PromptBlocks, blocks: readonly Block[]): void {
    const { blocks: split } = this.#wanted;
    const sums = this.#sums;
    if (isValidSequence(prompt.messages) !== undefined) sums.invalid++;
    const counts = countsOf(blocks);
    const twice = [...counts].some(([id, count]) => count > (this.#occurrences.get(id) ?? Infinity));
    if (twice) sums.duplicates++;
    const lacks = liveInput(this.#session, call).some((index) => {
      const message = this.#session.messages[index];
      return message !== undefined && split.of(message).some(({ id }) => !counts.has(id));
    });
    if (lacks) sums.lacking++;
  }

  result(policy: string): Measured {
    const sums = this.#sums;
    const share = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole);
    return {
      policy,
      calls: sums.calls,
      cost: sums.cost / 1e6,
      costOfShortCache: sums.short / 1e6,
      cacheEfficiency: share(sums.ideal, sums.cost),
      effectiveInputCost: share(sums.cost, sums.tokens),
      prefixStability: share(sums.stability, sums.calls - 1),
      meanContext: sums.tokens / Math.max(1, sums.calls),
      largestContext: sums.largest,
      coverage: share(sums.seen, sums.wanted),
      farCoverage: share(sums.farSeen, sums.farWanted),
      farStrings: sums.farWanted,
      strings: { strings: sums.wanted, seen: sums.seen, far: sums.farWanted, farSeen: sums.farSeen },
      compactions: sums.compactions,
      brokenPrefixes: sums.broken,
      invalidPrompts: sums.invalid,
      lackingLiveInput: sums.lacking,
      duplicates: sums.duplicates,
      overLimit: sums.over,
      underUse: sums.partial === 0 ? 0 : sums.free / sums.partial,
    };
  }
}

function holdsAny(ids: ReadonlySet<number>, holders: ReadonlySet<number>): boolean {
  const [fewer, more] = ids.size < holders.size ? [ids, holders] : [holders, ids];
  for (const id of fewer) if (more.has(id)) return true;
  return false;
}

/** Required content of a prompt: the live turn's input, and all that came since the newest answer began. */
function liveInput(session: RecordedSession, call: ModelCall): number[] {
  let newest = call.end - 1;
  while (newest > call.liveStart && session.messages[newest]?.role !== "assistant") newest--;
  const indices = newest > call.liveStart ? [call.liveStart] : [];
  for (let index = newest; index < call.end; index++) indices.push(index);
  return indices;
}

/** Replays every call of the session; `onCall` is called after each. */
export async function measure(
  policy: ContextPolicy,
  session: RecordedSession,
  wanted: WantedStrings,
  onCall?: (call: ModelCall) => Promise<void>,
): Promise<Measured> {
  const run = await policy.open(session);
  const meter = new Meter(session, wanted, policy.limit);
  try {
    for (const call of session.calls) {
      meter.add(call, await run.assemble(call));
      await run.settle(call);
      await onCall?.(call);
    }
  } finally {
    await run.close?.();
  }
  return meter.result(policy.name);
}
