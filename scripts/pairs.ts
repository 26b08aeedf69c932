/** Comparison of figures that were measured in pairs. */

/** What a reader wants of a measure; `neither` for a count that is only shown. */
export type Better = "less" | "more" | "neither";

export interface Sample {
  measure: string;
  value: number;
  unit: string;
  better: Better;
}

export interface Comparison {
  measure: string;
  unit: string;
  better: Better;
  /** Medians. */
  before: number;
  after: number;
  /** Median of the differences of the pairs, new less old. */
  difference: number;
  /** How far figures of the same code spread, in the unit of the measure. */
  noise: number;
  /** In how many pairs the new figure is the worse one. */
  worsePairs: number;
  pairs: number;
  /** The difference is worse than twice the noise, and so are three of four pairs. */
  worse: boolean;
}

/** What two runs of the same code differ by on a quiet machine, as a share. */
const LEAST_NOISE = 0.03;
/** Share of the pairs that have to agree. */
const MOST_PAIRS = 0.75;
/** With fewer pairs quartiles mean nothing, and the whole range counts. */
const PAIRS_FOR_QUARTILES = 5;

/** Units whose direction is the same wherever they occur. */
const UNITS: Readonly<Record<string, Better>> = {
  ms: "less",
  s: "less",
  MB: "less",
  ratio: "less",
  "uncached tokens": "less",
  "1/s": "more",
  "MiB/s": "more",
  "MB/s": "more",
  "messages/s": "more",
  streams: "neither",
  requests: "neither",
};
/** Measures of other units, and those that differ from their unit. */
const MEASURES: readonly [pattern: RegExp, better: Better][] = [
  [/: bytes that a cache has$/, "more"],
  [/: requests for compactions$/, "less"],
  [/: mean context of its requests$/, "neither"],
  [/: of that for compactions$/, "neither"],
];

/** The direction of a row: of its target, else declared here. Throws for a row that has none. */
export function betterOf(row: { measure: string; unit: string; target?: string }): Better {
  if (row.target?.startsWith("<")) return "less";
  if (row.target?.startsWith(">")) return "more";
  const declared = MEASURES.find(([pattern]) => pattern.test(row.measure))?.[1];
  const better = declared ?? (Object.hasOwn(UNITS, row.unit) ? UNITS[row.unit] : undefined);
  if (better === undefined)
    throw new Error(`"${row.measure}" (${row.unit}) has no direction: declare it in scripts/pairs.ts.`);
  return better;
}

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  if (low === undefined || high === undefined) return Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}

/** Half of the distance between the quartiles, or of the range where there are few. */
function spread(numbers: readonly number[]): number {
  const edge = numbers.length < PAIRS_FOR_QUARTILES ? 0 : 0.25;
  return (quantile(numbers, 1 - edge) - quantile(numbers, edge)) / 2;
}

function valuesOf(rounds: readonly (readonly Sample[])[], measure: string): number[] {
  return rounds.map((samples) => samples.find((sample) => sample.measure === measure)?.value ?? Number.NaN);
}

function compare(
  { measure, unit, better }: Sample,
  olds: readonly number[],
  news: readonly number[],
): Comparison {
  const differences = news.map((value, index) => value - (olds[index] ?? Number.NaN));
  const before = quantile(olds, 0.5);
  const difference = quantile(differences, 0.5);
  const noise = Math.max(LEAST_NOISE * Math.abs(before), spread(differences));
  const sign = better === "more" ? -1 : 1;
  const worsePairs = better === "neither" ? 0 : differences.filter((each) => sign * each > 0).length;
  const worse =
    better !== "neither" && sign * difference > 2 * noise && worsePairs >= MOST_PAIRS * differences.length;
  const after = quantile(news, 0.5);
  return {
    measure,
    unit,
    better,
    before,
    after,
    difference,
    noise,
    worsePairs,
    pairs: differences.length,
    worse,
  };
}

/** One row for each measure that both have in every pair, in the order of the first one. */
export function comparePairs(
  before: readonly (readonly Sample[])[],
  after: readonly (readonly Sample[])[],
): Comparison[] {
  return (after[0] ?? []).flatMap((sample) => {
    const olds = valuesOf(before, sample.measure);
    const news = valuesOf(after, sample.measure);
    return [...olds, ...news].some(Number.isNaN) ? [] : [compare(sample, olds, news)];
  });
}
