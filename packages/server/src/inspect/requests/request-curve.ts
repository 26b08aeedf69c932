/** A session's own requests as points of curves: context size, share of the cache, cost. A long session has a point for several requests. */
import type { CurvePoint, InspectedRequest, RequestCurve } from "@pagurus/api/types";
import { defined } from "@pagurus/core/data/defined";

/** At most `most` points, oldest first. */
export function requestCurve(rows: readonly InspectedRequest[], most: number): RequestCurve {
  const own = rows.filter(({ purpose }) => purpose === undefined);
  const every = Math.max(1, Math.ceil(own.length / most));
  const points: CurvePoint[] = [];
  for (let at = 0; at < own.length; at += every) {
    const point = pointOf(own.slice(at, at + every), at + 1);
    if (point) points.push(point);
  }
  const cost = sumOf(rows.map(({ usage }) => usage?.cost));
  return { points, requests: own.length, ...defined({ cost }) };
}

function pointOf(rows: readonly InspectedRequest[], number: number): CurvePoint | undefined {
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

function sizeOf({ inputTokens, tokens = 0 }: InspectedRequest): number {
  return inputTokens ?? tokens;
}

/** Undefined where no value is known. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
}
