/** OpenClaw's thinking levels as ours; a level that is missing has no counterpart. */
export const THINKING: Readonly<Record<string, "off" | "low" | "medium" | "high">> = {
  off: "off",
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
  ultra: "high",
};
