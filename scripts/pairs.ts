/** Comparison of figures that were measured in pairs. */

export interface Sample {
  measure: string;
  value: number;
  unit: string;
}

export interface Comparison {
  measure: string;
  unit: string;
  /** Medians. */
  before: number;
  after: number;
  /** Median of the ratios of the pairs, new over old. */
  ratio: number;
  /** Half of the distance between the quartiles of the ratios, at least `LEAST_NOISE`. */
  noise: number;
  /** The new figure is worse by more than twice the noise, in the direction that is worse for its unit. */
  worse: boolean;
}

/** What two runs of the same code differ by on a quiet machine. */
const LEAST_NOISE = 0.03;

/** Units of which more is better. */
const RATES = new Set(["1/s", "MiB/s", "MB/s", "%"]);

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
}

function valuesOf(rounds: readonly (readonly Sample[])[], measure: string): number[] {
  return rounds.map((samples) => samples.find((sample) => sample.measure === measure)?.value ?? Number.NaN);
}

/** One row for each measure that both have, in the order of the first round. */
export function comparePairs(
  before: readonly (readonly Sample[])[],
  after: readonly (readonly Sample[])[],
): Comparison[] {
  return (after[0] ?? [])
    .filter(({ measure }) => before[0]?.some((old) => old.measure === measure))
    .map(({ measure, unit }) => {
      const olds = valuesOf(before, measure);
      const news = valuesOf(after, measure);
      const ratios = news.map((value, index) => {
        const old = olds[index] ?? Number.NaN;
        return old === value ? 1 : value / old;
      });
      const ratio = quantile(ratios, 0.5);
      const noise = Math.max(LEAST_NOISE, (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / 2);
      const worse = RATES.has(unit) ? ratio < 1 - 2 * noise : ratio > 1 + 2 * noise;
      return {
        measure,
        unit,
        before: quantile(olds, 0.5),
        after: quantile(news, 0.5),
        ratio,
        noise,
        worse,
      };
    });
}
