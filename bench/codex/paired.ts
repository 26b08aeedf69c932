/** Two drivers, turn by turn in the same minute: whatever else the machine does, it does to both. */

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
 * Runs both `count` times after `warmUp` times that do not count, one after the other, and each the first every second
 * time. What `host` and `bare` return is the time that counts, ms.
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

/** Milliseconds that the work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
