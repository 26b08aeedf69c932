/** What a report has of one model request besides its words. */
import type { RequestRow } from "../requests/request-row.ts";

function count(value: number): string {
  return value.toLocaleString("en-US");
}

export function requestFacts(row: RequestRow): string[] {
  const { id, at, model, purpose, runtime, engine, tokens, usage, cacheShare, cache, degraded } = row;
  const miss = cache?.miss;
  const input = usage && usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
  const all = [
    id,
    at,
    `${runtime}, ${model}`,
    purpose,
    engine,
    input === undefined ? `about ${count(tokens ?? 0)} tokens` : `${count(input)} tokens in`,
    usage && `${count(usage.output)} tokens out`,
    cacheShare === undefined ? undefined : `${Math.round(cacheShare * 100)} % from the cache`,
    usage?.cost === undefined ? undefined : `$${usage.cost.toFixed(4)}`,
    miss && `cache miss: ${miss.cause}, ${count(miss.missedTokens)} tokens`,
    cache?.diagnosis && `the provider: ${cache.diagnosis.reason}`,
    degraded,
  ];
  return all.filter((fact) => fact !== undefined);
}
