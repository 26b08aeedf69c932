/** Two drivers that alternate turn by turn, so that other load on the machine affects both. */

export interface Pair {
  /** ms. */
  host: number;
  bare: number;
}

export interface Overhead {
  /** Medians, ms. */
  host: number;
  bare: number;
  /** Of the differences of the pairs, ms. */
  p50: number;
  p95: number;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function overheadOf(pairs: readonly Pair[]): Overhead {
  const differences = pairs.map(({ host, bare }) => host - bare);
  const median = (pick: (pair: Pair) => number): number => quantile(pairs.map(pick), 0.5);
  return {
    host: median(({ host }) => host),
    bare: median(({ bare }) => bare),
    p50: quantile(differences, 0.5),
    p95: quantile(differences, 0.95),
  };
}

/**
 * Runs both `count` times after `warmUp` uncounted times, in alternation, each first every second time. `host` and `bare`
 * return the time to count, ms.
 */
export async function interleaved(
  count: number,
  warmUp: number,
  host: (index: number) => Promise<number>,
  bare: (index: number) => Promise<number>,
): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (let index = 0; index < warmUp + count; index++) {
    const pair: Pair = { host: 0, bare: 0 };
    if (index % 2 === 0) pair.host = await host(index);
    pair.bare = await bare(index);
    if (index % 2 === 1) pair.host = await host(index);
    if (index >= warmUp) pairs.push(pair);
  }
  return pairs;
}

/** Duration of the work, ms. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
