/** Due times within active hours, against a reading of the zone's clock of their own. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { dueAfter } from "../../packages/inbox/src/schedule/due-times.ts";
import type { ActiveHours, JobTimes } from "../../packages/inbox/src/schedule/job.ts";
import { random } from "../runner/seeded-random.ts";
import { runs } from "../runner/short-form.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe"];

/** Minutes since the local midnight. */
function localMinute(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).formatToParts(at);
  const part = (type: string): number => Number(parts.find((each) => each.type === type)?.value);
  return part("hour") * 60 + part("minute");
}

function clock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
}

function everyWithin(everyMs: number, activeHours: ActiveHours): JobTimes {
  return { kind: "every", everyMs, from: 0, activeHours };
}

function due(times: JobTimes, from: string, count: number): string[] {
  const found: string[] = [];
  for (let at = Date.parse(from); found.length < count;) {
    at = dueAfter(times, at) ?? assert.fail("is due again");
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

describe("active hours", () => {
  it("that end on the next day go through midnight, in their zone", () => {
    const hours = { from: "22:00", to: "01:30", tz: "Asia/Tokyo" };
    assert.deepEqual(due(everyWithin(HOUR_MS, hours), "2026-11-26T11:00Z", 5), [
      "2026-11-26T13:00",
      "2026-11-26T14:00",
      "2026-11-26T15:00",
      "2026-11-26T16:00",
      "2026-11-27T13:00",
    ]);
  });

  it("that end at 24:00 have the day's last minute, and no minute of the next day", () => {
    const hours = { from: "23:00", to: "24:00", tz: "UTC" };
    assert.deepEqual(due(everyWithin(30 * MINUTE_MS, hours), "2026-11-26T20:00Z", 3), [
      "2026-11-26T23:00",
      "2026-11-26T23:30",
      "2026-11-27T23:00",
    ]);
  });

  it("follow the zone's clock when it is changed", () => {
    const hours = { from: "08:00", to: "09:00", tz: "Europe/Berlin" };
    assert.deepEqual(due(everyWithin(HOUR_MS, hours), "2026-03-28T00:00Z", 2), [
      "2026-03-28T07:00",
      "2026-03-29T06:00",
    ]);
    // 02:00 to 03:00 is not there on that day.
    const skipped = { from: "02:00", to: "03:00", tz: "Europe/Berlin" };
    assert.deepEqual(due(everyWithin(HOUR_MS, skipped), "2026-03-28T00:00Z", 2), [
      "2026-03-28T01:00",
      "2026-03-30T00:00",
    ]);
  });

  it("contain each due time, and no time of the interval within them is left out", () => {
    const next = random(7);
    const pick = (most: number): number => Math.floor(next() * most);
    for (let run = 0; run < runs(400); run += 1) {
      const tz = ZONES[run % ZONES.length] ?? "UTC";
      const [start, length] = [pick(1_440), 60 + pick(1_300)];
      const end = (start + length) % 1_440;
      if (end === start) continue;
      const everyMs = (5 + pick(180)) * MINUTE_MS;
      const times = everyWithin(everyMs, { from: clock(start), to: clock(end), tz });
      const isActive = (at: number): boolean => {
        const minute = localMinute(at, tz);
        return start < end ? minute >= start && minute < end : minute >= start || minute < end;
      };
      const from = Date.parse("2026-03-01T00:00Z") + pick(365 * 24) * HOUR_MS;
      const where = `${JSON.stringify(times)} after ${new Date(from).toISOString()}`;
      const found: number[] = [];
      for (let at = from; at < from + 48 * HOUR_MS;) {
        const after = at;
        at = dueAfter(times, at) ?? assert.fail(where);
        assert.ok(at > after && isActive(at), `${where}: ${new Date(at).toISOString()}`);
        found.push(at);
      }
      const known = new Set(found);
      for (let at = Math.ceil((from + 1) / everyMs) * everyMs; at < from + 48 * HOUR_MS; at += everyMs)
        if (isActive(at)) assert.ok(known.has(at), `${where}: ${new Date(at).toISOString()} is due`);
    }
  });
});
