const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of an interval as the configuration writes it, for example `30m`; 0 for any other text. */
export function intervalMs(text: string): number {
  const [, count = "0", unit = ""] = /^(\d+)([smhd])$/.exec(text) ?? [];
  return Number(count) * (UNITS[unit] ?? 0);
}
