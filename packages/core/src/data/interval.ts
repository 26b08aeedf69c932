export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** Milliseconds of an interval as the configuration writes it, for example `30m`; 0 for any other text. */
export function intervalMs(text: string): number {
  const [, count = "0", unit = ""] = /^(\d+)([smhd])$/.exec(text) ?? [];
  return Number(count) * (UNITS[unit] ?? 0);
}
