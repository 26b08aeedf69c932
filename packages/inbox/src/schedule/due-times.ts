/** Due times of jobs. A local time that a change of the clock skips is due right after the gap; one that exists twice is due once. */
import { DAY_MS, MINUTE_MS } from "@pagurus/core/data/interval";
import { Cron } from "croner";
import { PagurusError } from "@pagurus/contract/errors";
import type { ActiveHours, JobTimes } from "./job.ts";

/** Times that are searched for one whose local time was not there before. */
const MOST_REPEATED = 10_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** Local date and time, such as `2026-10-25 02:30:00`. */
function wallTime(at: number, tz: string): string {
  let format = formats.get(tz);
  if (!format) {
    format = new Intl.DateTimeFormat("sv-SE", { timeZone: tz, dateStyle: "short", timeStyle: "medium" });
    formats.set(tz, format);
  }
  return format.format(at);
}

/** Throws `usage_invalid` for an expression, a zone or an interval that cannot be used. */
export function checkTimes(times: JobTimes): void {
  if (times.kind === "at") return;
  const zone = times.kind === "cron" ? times.tz : times.activeHours?.tz;
  if (zone !== undefined) checkZone(zone);
  if (times.kind === "every" && times.everyMs < 1_000) throw unusable("the interval is below 1 s");
  if (times.kind !== "cron") return;
  try {
    cronOf(times.expression, times.tz);
  } catch {
    throw unusable(
      `${JSON.stringify(times.expression)} is not a cron expression; write minute, hour, day, month and weekday, such as "0 8 * * 1-5"`,
    );
  }
}

function checkZone(tz: string): void {
  try {
    wallTime(0, tz);
  } catch {
    throw unusable(`${JSON.stringify(tz)} is not a time zone; take a name such as Europe/Berlin`);
  }
}

function unusable(why: string): PagurusError {
  return new PagurusError("usage_invalid", `The times of the job cannot be used: ${why}.`);
}

/** A local time such as `2026-12-01T08:00` in a zone, or a time with an offset of its own, ms. Throws `usage_invalid`. */
export function timeInZone(text: string, tz: string): number {
  checkZone(tz);
  const hasOffset = /(?:Z|[+-]\d\d:?\d\d)$/i.test(text);
  const asUtc = Date.parse(hasOffset ? text : `${text}${text.includes("T") ? "" : "T00:00"}Z`);
  if (!Number.isFinite(asUtc))
    throw unusable(`${JSON.stringify(text)} is not a time such as 2026-12-01T08:00`);
  if (hasOffset) return asUtc;
  const offsetAt = (at: number): number => Date.parse(`${wallTime(at, tz).replace(" ", "T")}Z`) - at;
  // A second step, as the first offset may be that of the other side of a change of the clock.
  return asUtc - offsetAt(asUtc - offsetAt(asUtc));
}

function cronOf(expression: string, tz: string): Cron {
  return new Cron(expression, { timezone: tz, paused: true });
}

/** The first due time after `after`, ms since the epoch; undefined where there is none. */
export function dueAfter(times: JobTimes, after: number): number | undefined {
  if (times.kind === "at") return times.at > after ? times.at : undefined;
  if (times.kind === "every") return intervalAfter(times, after);
  return cronAfter(times, after);
}

/** The clock is set back by at most so much; earlier times are looked at for the same local time. */
const LONGEST_REPEAT_MS = 3 * 60 * MINUTE_MS;

function cronAfter(
  { expression, tz }: Extract<JobTimes, { kind: "cron" }>,
  after: number,
): number | undefined {
  const cron = cronOf(expression, tz);
  let from = after;
  for (let count = 0; count < MOST_REPEATED; count += 1) {
    const next = cron.nextRun(new Date(from))?.getTime();
    if (next === undefined || !isRepeated(next, tz)) return next;
    from = next;
  }
  return undefined;
}

/** Whether the same local time was there before, as the clock has been set back since. */
function isRepeated(at: number, tz: string): boolean {
  const wall = wallTime(at, tz);
  for (let back = 30 * MINUTE_MS; back <= LONGEST_REPEAT_MS; back += 30 * MINUTE_MS)
    if (wallTime(at - back, tz) === wall) return true;
  return false;
}

function intervalAfter(
  { everyMs, from, activeHours }: Extract<JobTimes, { kind: "every" }>,
  after: number,
): number {
  const count = Math.max(0, Math.floor((after - from) / everyMs)) + 1;
  const due = from + count * everyMs;
  return activeHours ? activeFrom(due, activeHours) : due;
}

function minutesOf(text: string): number {
  const [hours = 0, minutes = 0] = text.split(":").map(Number);
  return hours * 60 + minutes;
}

/** The time itself, or the start of the next active hours. */
function activeFrom(due: number, hours: ActiveHours): number {
  let at = due;
  // Minute by minute through at most two days: once for each run, and right at every change of the clock.
  while (at < due + 2 * DAY_MS && !isActive(at, hours)) at = Math.floor(at / MINUTE_MS + 1) * MINUTE_MS;
  return at;
}

function isActive(at: number, { from, to, tz }: ActiveHours): boolean {
  const now = minutesOf(wallTime(at, tz).slice(11, 16));
  const [start, end] = [minutesOf(from), minutesOf(to)];
  return start <= end ? now >= start && now < end : now >= start || now < end;
}
