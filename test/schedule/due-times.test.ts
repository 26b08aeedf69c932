import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkTimes, dueAfter, timeInZone } from "../../packages/inbox/src/schedule/due-times.ts";
import type { JobTimes } from "../../packages/inbox/src/schedule/job.ts";

function firsts(times: JobTimes, from: string, count: number): string[] {
  const found: string[] = [];
  let at = Date.parse(from);
  while (found.length < count) {
    const next = dueAfter(times, at);
    assert.ok(next !== undefined && next > at);
    at = next;
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

function berlin(expression: string): JobTimes {
  return { kind: "cron", expression, tz: "Europe/Berlin" };
}

describe("due times", () => {
  it("follow a zone's clock through the year", () => {
    assert.deepEqual(firsts(berlin("0 8 * * 1-5"), "2026-03-27T00:00Z", 2), [
      "2026-03-27T07:00",
      "2026-03-30T06:00",
    ]);
  });

  it("come once where the local time does not exist", () => {
    assert.deepEqual(firsts(berlin("30 2 * * *"), "2026-03-28T00:00Z", 3), [
      "2026-03-28T01:30",
      "2026-03-29T01:00",
      "2026-03-30T00:30",
    ]);
  });

  it("come once where the local time exists twice", () => {
    assert.deepEqual(firsts(berlin("30 2 * * *"), "2026-10-24T00:00Z", 3), [
      "2026-10-24T00:30",
      "2026-10-25T00:30",
      "2026-10-26T01:30",
    ]);
    const lordHowe: JobTimes = { kind: "cron", expression: "30 2 * * *", tz: "Australia/Lord_Howe" };
    const days = firsts(lordHowe, "2026-04-01T00:00Z", 10).map((time) => time.slice(0, 10));
    assert.equal(new Set(days).size, 10);
  });

  it("of an interval stay within the active hours", () => {
    const times: JobTimes = {
      kind: "every",
      everyMs: 3_600_000,
      from: Date.parse("2026-11-26T12:10Z"),
      activeHours: { from: "08:00", to: "15:00", tz: "UTC" },
    };
    assert.deepEqual(firsts(times, "2026-11-26T12:10Z", 4), [
      "2026-11-26T13:10",
      "2026-11-26T14:10",
      "2026-11-27T08:00",
      "2026-11-27T08:10",
    ]);
  });

  it("read a local time in its zone", () => {
    assert.equal(timeInZone("2026-12-01T08:00", "Europe/Berlin"), Date.parse("2026-12-01T07:00Z"));
    assert.equal(timeInZone("2026-07-01T08:00", "Europe/Berlin"), Date.parse("2026-07-01T06:00Z"));
    assert.throws(() => timeInZone("soon", "Europe/Berlin"), { code: "usage_invalid" });
  });

  it("that cannot be used are refused", () => {
    assert.throws(() => checkTimes(berlin("61 * * * *")), { code: "usage_invalid" });
    assert.throws(() => checkTimes({ kind: "cron", expression: "0 8 * * *", tz: "Mars/Base" }), {
      code: "usage_invalid",
    });
  });
});
