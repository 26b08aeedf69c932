/**
 * The simulation that was published with the metrics: five recorded sessions as one agent, 808 calls, 952,000 tokens. The
 * replay has three of these sessions, so its figures are comparable, not equal.
 */
export interface PublishedFigures {
  /** Million token equivalents, for 808 calls. */
  cost: number;
  cacheEfficiency: number;
  meanContext: number;
  farCoverage: number;
}

export const PUBLISHED_CALLS = 808;

/** By the window's short name and the policy's. A history that only grows costs by the square of its calls: no peer. */
export const PUBLISHED: Readonly<Record<string, PublishedFigures>> = {
  "200k sliding window, every call": {
    cost: 59.3,
    cacheEfficiency: 0.229,
    meanContext: 154_000,
    farCoverage: 0.834,
  },
  "200k batched trim 80 to 50 %": {
    cost: 12.4,
    cacheEfficiency: 0.917,
    meanContext: 127_000,
    farCoverage: 0.807,
  },
  "200k compaction at 80 %, blank summary": {
    cost: 9.9,
    cacheEfficiency: 0.99,
    meanContext: 104_000,
    farCoverage: 0.748,
  },
  "200k compaction at 80 %, blank summary + rare strings": {
    cost: 9.9,
    cacheEfficiency: 0.99,
    meanContext: 104_000,
    farCoverage: 0.802,
  },
  "200k lazy DAG, blank summary": {
    cost: 10.9,
    cacheEfficiency: 0.994,
    meanContext: 105_000,
    farCoverage: 0.711,
  },
  "64k compaction at 80 %, blank summary": {
    cost: 5.7,
    cacheEfficiency: 0.977,
    meanContext: 41_000,
    farCoverage: 0.232,
  },
  "64k compaction at 80 %, blank summary + rare strings": {
    cost: 5.7,
    cacheEfficiency: 0.977,
    meanContext: 41_000,
    farCoverage: 0.512,
  },
};
