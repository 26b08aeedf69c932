const UNITS = [
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** A duration for a person: `250 ms`, `1.5 s`, `1 min`, `2 h 5 min`. At most two units. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${Math.round(ms / 100) / 10} s`;
  const words: string[] = [];
  let left = Math.round(ms / 1_000) * 1_000;
  for (const [unit, size] of UNITS) {
    const whole = Math.floor(left / size);
    left -= whole * size;
    if (whole > 0) words.push(`${whole} ${unit}`);
  }
  return words.slice(0, 2).join(" ");
}
