/** The state of the provider's prompt cache, as engines get it. */
import type { PromptCacheInfo } from "@pagurus/contract/engine/runtime-context";
import type { ModelInfo } from "@pagurus/contract/model";
import type { CacheMiss, Receipt } from "@pagurus/contract/session/receipt";
import type { LastCall } from "../receipts/receipt-sink.ts";
import { defined } from "@pagurus/core/data/defined";

/** How long a provider caches a prefix that the host has marked, from its last use. */
const MARKED_CACHE_MS = 5 * 60_000;

type Observation = NonNullable<PromptCacheInfo["observation"]>;

/** Undefined where the runtime reports nothing of a cache. `previous`: the call before; `receipt`: the last call's. */
export function promptCacheInfo(
  { promptCache }: Pick<ModelInfo, "promptCache">,
  { last, previous }: { last: LastCall | undefined; previous: LastCall | undefined },
  receipt: Receipt | undefined,
): PromptCacheInfo | undefined {
  const { cacheRead, cacheWrite } = last?.usage ?? {};
  if (!last || (cacheRead === undefined && cacheWrite === undefined)) return undefined;
  const { input, output, totalTokens } = last.usage;
  const observation = observationOf(last, previous, receipt);
  return {
    lastCallUsage: {
      input,
      output,
      ...defined({ cacheRead, cacheWrite }),
      contextUsage: { state: "available", promptTokens: totalTokens - output, totalTokens },
      total: totalTokens,
    },
    ...defined({ observation }),
    lastCacheTouchAt: last.at,
    ...(promptCache === "marks" ? { retention: "short" as const, expiresAt: last.at + MARKED_CACHE_MS } : {}),
  };
}

/** The host's own verdict on the last call, from its receipt; undefined where the receipt is of another call. */
function observationOf(
  { usage }: LastCall,
  previous: LastCall | undefined,
  receipt: Receipt | undefined,
): Observation | undefined {
  if (receipt?.usage?.totalTokens !== usage.totalTokens || receipt.usage.cacheRead !== usage.cacheRead)
    return undefined;
  const miss = receipt.cache?.miss;
  const changes = miss ? changesOfMiss(miss) : [];
  const before = previous?.usage.cacheRead;
  return {
    broke: miss !== undefined,
    ...defined({ previousCacheRead: before, cacheRead: usage.cacheRead }),
    ...(changes.length > 0 ? { changes } : {}),
  };
}

const CODES = { model: "model", system: "systemPrompt", tools: "tools" } as const;

/** The cause by OpenClaw's code; it has none for changed messages and for an entry that the provider dropped. */
function changesOfMiss({ cause, missedTokens }: CacheMiss): NonNullable<Observation["changes"]> {
  if (cause === "messages" || cause === "time" || cause === "unknown") return [];
  return [
    { code: CODES[cause], detail: `${missedTokens} tokens of the request before were not in the cache` },
  ];
}
