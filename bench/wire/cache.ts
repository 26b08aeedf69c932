/**
 * Simulates a provider's prompt cache for the requests of a conversation. A request's bytes are in the order in which
 * providers cache them (Anthropic up to the last mark); of each, the longest prefix shared with one of the requests shortly
 * before it is read from the cache.
 */
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";

/** Price of a token of input, where one that is neither read from the cache nor written to it costs 1. */
interface Prices {
  cached: number;
  written: number;
}

/** As published by the providers: a tenth for reads; Anthropic charges a quarter more for writes. */
const PRICES: Partial<Record<WireApi, Prices>> = {
  "anthropic-messages": { cached: 0.1, written: 1.25 },
  "openai-responses": { cached: 0.1, written: 1 },
  "openai-completions": { cached: 0.1, written: 1 },
};
/** No cache is known. */
const UNCACHED: Prices = { cached: 1, written: 1 };
const CHARS_OF_A_TOKEN = 4;
/** How many requests back something may still be cached; a compaction is a request in between. */
const REMEMBERED = 4;

export interface CacheFigures {
  requests: number;
  bytes: number;
  /** Cached bytes of these. */
  cachedBytes: number;
  /** Tokens of uncached price. */
  cost: number;
}

type Fields = Record<string, unknown>;

/** Marks say where a cache ends, not what is cached. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== "cache_control");
  return Object.fromEntries(entries.map(([key, each]) => [key, withoutMarks(each)]));
}

interface Cacheable {
  text: string;
  /** Characters of it that a provider caches. */
  most: number;
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value ?? null];
}

/** The parts that can have a mark, in order: tools, then instructions, then the conversation. */
function partsOf(api: WireApi, body: Fields): unknown[] {
  if (api === "openai-responses")
    return [...list(body["tools"]), body["instructions"], ...list(body["input"])];
  const messages = list(body["messages"]).flatMap((message) => {
    const { content, ...rest } = message as Fields;
    return [rest, ...list(content)];
  });
  return [...list(body["tools"]), ...list(withoutBilling(body["system"])), ...messages];
}

/** Anthropic caches up to the last mark, the others everything. */
function cacheable(api: WireApi, body: Fields): Cacheable {
  let text = "";
  let marked = 0;
  for (const part of partsOf(api, body)) {
    text += `${JSON.stringify(withoutMarks(part ?? null))}\n`;
    if (JSON.stringify(part ?? null).includes('"cache_control"')) marked = text.length;
  }
  return { text, most: api === "anthropic-messages" ? marked : text.length };
}

/** A line of the harness's own accounting that its provider does not show the model. */
function withoutBilling(system: unknown): unknown {
  if (!Array.isArray(system)) return system;
  return system.filter(
    (block) => !String((block as Fields)["text"]).startsWith("x-anthropic-billing-header"),
  );
}

function sharedLength(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let low = 0;
  let high = most;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (one.slice(low, middle) === other.slice(low, middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Counts the requests of one conversation in order. */
export class CacheCounter {
  /** Of the conversation. */
  readonly main: CacheFigures = { requests: 0, bytes: 0, cachedBytes: 0, cost: 0 };
  /** The cost of its compactions. */
  readonly compaction: CacheFigures = { requests: 0, bytes: 0, cachedBytes: 0, cost: 0 };
  readonly #api: WireApi;
  #recent: string[] = [];

  constructor(api: WireApi) {
    this.#api = api;
  }

  take(body: Fields, isCompaction: boolean): void {
    const { text, most } = cacheable(this.#api, body);
    const begin = text.slice(0, most);
    const cached = Math.max(0, ...this.#recent.map((before) => sharedLength(before, begin)));
    const { cached: read, written } = PRICES[this.#api] ?? UNCACHED;
    const figures = isCompaction ? this.compaction : this.main;
    figures.requests += 1;
    figures.bytes += text.length;
    figures.cachedBytes += cached;
    figures.cost += (cached * read + (most - cached) * written + text.length - most) / CHARS_OF_A_TOKEN;
    if (most > 0) this.#recent = [...this.#recent, begin].slice(-REMEMBERED);
  }
}
