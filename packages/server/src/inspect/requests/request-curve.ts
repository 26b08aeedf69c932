/** A session's own requests as points of curves: context size, share of the cache, cost. A long session has a point for several requests. */
import type { RequestRow } from "./request-row.ts";

/** Of one request, or of several that follow each other. */
export interface CurvePoint {
  /** Id of the request with the most tokens. */
  request: string;
  /** Of the first one, counted from 1 over the session's own requests. */
  number: number;
  requests: number;
  /** ISO 8601. */
  at: string;
  /** Of the request that has most: as the provider counted the input, else our estimate. */
  tokens: number;
  /** Share of their input that was read from the cache, 0 to 1; absent where the provider reports none. */
  cacheShare?: number;
  /** US dollars a request, on average of those whose cost is known. */
  cost?: number;
}

export interface RequestCurve {
  points: CurvePoint[];
  /** Of the curve: without those for a purpose of their own, such as a summary. */
  requests: number;
  /** US dollars of all requests of the session; absent where none is known. */
  cost?: number;
}

/** At most `most` points, oldest first. */
export function requestCurve(rows: readonly RequestRow[], most: number): RequestCurve {
  const own = rows.filter(({ purpose }) => purpose === undefined);
  const every = Math.max(1, Math.ceil(own.length / most));
  const points: CurvePoint[] = [];
  for (let at = 0; at < own.length; at += every) {
    const point = pointOf(own.slice(at, at + every), at + 1);
    if (point) points.push(point);
  }
  const cost = sumOf(rows.map(({ usage }) => usage?.cost));
  return { points, requests: own.length, ...(cost === undefined ? {} : { cost }) };
}

function pointOf(rows: readonly RequestRow[], number: number): CurvePoint | undefined {
  const [first, ...rest] = rows;
  if (!first) return undefined;
  const largest = rest.reduce((best, row) => (sizeOf(row) > sizeOf(best) ? row : best), first);
  const reported = rows.filter(({ usage }) => usage?.cacheRead !== undefined);
  const input = sumOf(reported.map(sizeOf));
  const cached = sumOf(reported.map(({ usage }) => usage?.cacheRead));
  const costs = rows.map(({ usage }) => usage?.cost).filter((cost) => cost !== undefined);
  const cost = sumOf(costs);
  return {
    request: largest.id,
    number,
    requests: rows.length,
    at: largest.at,
    tokens: sizeOf(largest),
    ...(cached !== undefined && input ? { cacheShare: cached / input } : {}),
    ...(cost === undefined ? {} : { cost: cost / costs.length }),
  };
}

function sizeOf({ usage, tokens }: RequestRow): number {
  return usage ? usage.input + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0) : (tokens ?? 0);
}

/** Undefined where no value is known. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}
