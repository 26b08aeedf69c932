/** The host's own finding of prompt cache misses, from the receipts of two requests. */
import type { Usage } from "@pagurus/contract/message";
import type { ModelCost } from "@pagurus/contract/model";
import type { CacheMiss, Receipt, ReceiptPart } from "@pagurus/contract/session/receipt";

/** Providers keep an unused cache entry for at least this long, ms. */
const CACHE_MS = 5 * 60_000;
/** The least that providers cache, tokens; some models need more. */
const SMALLEST_CACHED = 4_096;
/** Less than this share of the common beginning read from the cache is a miss: marks and blocks do not end where it does. */
const HIT_SHARE = 0.5;

const SYSTEM: ReadonlySet<ReceiptPart["source"]> = new Set(["system", "addition", "instructions", "memory"]);

type Compared = Pick<
  Receipt,
  "model" | "parts" | "tokens" | "timestamp" | "sharedParts" | "sharedTokens" | "own"
>;

/** What changed since the request before; undefined where that is the beginning of this one. */
export function changeSince(previous: Compared, now: Compared): CacheMiss | undefined {
  if (previous.model !== now.model) return { cause: "model", missedTokens: previous.tokens };
  const ours = ownChange(previous, now);
  if (ours) return { cause: ours, missedTokens: previous.tokens };
  const before = previous.parts[now.sharedParts];
  if (!before) return undefined;
  const sources = [before.source, now.parts[now.sharedParts]?.source];
  const isSystem = sources.some((source) => source !== undefined && SYSTEM.has(source));
  const cause = isSystem ? "system" : sources.includes("tools") ? "tools" : "messages";
  return { cause, missedTokens: previous.tokens - now.sharedTokens };
}

/** The miss with what it cost; unchanged where the prices are not known. */
export function pricedMiss(miss: CacheMiss, price: ModelCost | undefined): CacheMiss {
  if (price?.cacheRead === undefined) return miss;
  // What is missed is mostly written to the cache again.
  const again = price.cacheWrite ?? price.input;
  return { ...miss, cost: Math.max(0, (miss.missedTokens * (again - price.cacheRead)) / 1_000_000) };
}

function ownChange({ own: before }: Compared, { own }: Compared): "system" | "tools" | undefined {
  if (!before || !own) return undefined;
  if (before.system !== own.system) return "system";
  return before.tools === own.tools ? undefined : "tools";
}

/**
 * A miss that only the answer shows: the request before is the beginning of this one, and the provider read little of it from its
 * cache. Undefined if it does not report that.
 */
export function missReported(previous: Compared, now: Compared, { cacheRead }: Usage): CacheMiss | undefined {
  if (cacheRead === undefined || now.sharedTokens < SMALLEST_CACHED) return undefined;
  const missedTokens = now.sharedTokens - cacheRead;
  if (cacheRead >= now.sharedTokens * HIT_SHARE) return undefined;
  const isOld = Date.parse(now.timestamp) - Date.parse(previous.timestamp) > CACHE_MS;
  return { cause: isOld ? "time" : "unknown", missedTokens };
}
