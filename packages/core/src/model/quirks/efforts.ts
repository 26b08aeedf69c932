/** Levels of thinking, and the nearest that a model has. */

/** In ascending order. */
const LEVELS = ["minimal", "low", "medium", "high", "xhigh"] as const;
export type Effort = (typeof LEVELS)[number];
export type Reasoning = "none" | Effort;

/** Share of the longest answer that a level of thinking may use, for models that take a budget of tokens. */
export const BUDGET_SHARE: Readonly<Record<Effort, number>> = {
  minimal: 0.02,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.9,
};

/** The wanted level, else the next lower one that the model has, else the next higher one; `none` only where it is wanted. */
export function nearestEffort(wanted: Reasoning, supported: readonly Reasoning[]): Reasoning {
  if (supported.includes(wanted)) return wanted;
  const at = LEVELS.findIndex((level) => level === wanted);
  const lower = LEVELS.slice(0, Math.max(at, 0)).toReversed();
  return [...lower, ...LEVELS.slice(at + 1)].find((level) => supported.includes(level)) ?? wanted;
}
