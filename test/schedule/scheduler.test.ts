import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { describe, it, type TestContext } from "node:test";
import type { Database } from "../../packages/core/src/data/sqlite.ts";
import { LocalEvents } from "../../packages/inbox/src/local-events.ts";
import { LocalInbox } from "../../packages/inbox/src/local-inbox.ts";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { createFileLogger } from "../../packages/core/src/platform/log.ts";
import { dueAfter } from "../../packages/inbox/src/schedule/due-times.ts";
import { JobStore } from "../../packages/inbox/src/schedule/job-store.ts";
import type { JobTimes, MissedPolicy, NewJob } from "../../packages/inbox/src/schedule/job.ts";
import { MISSED_AFTER_MS, Scheduler } from "../../packages/inbox/src/schedule/scheduler.ts";
import { TestClock } from "../runner/test-clock.ts";
import { byLength } from "../runner/short-form.ts";
import { random } from "../runner/seeded-random.ts";

const START = Date.parse("2026-10-24T20:00Z");
const HOUR_MS = 3_600_000;

/** A host's schedule on a clock that the test moves; `stop` and `crash` end it, and `start` begins another one. */
class Stage {
  readonly clock = new TestClock(START);
  readonly home = mkdtempSync(join(tmpdir(), "pagurus-schedule-"));
  db: Database;
  jobs: JobStore;
  #scheduler: Scheduler | undefined;
  #posting = 0;
  /** The process ends after its next post, before the mark. */
  crashesAfterPost = false;
  crashed = false;

  get now(): number {
    return this.clock.now();
  }

  constructor(t: TestContext) {
    this.db = openServerDatabase(this.home);
    this.jobs = new JobStore(this.db, () => this.now);
    t.after(() => {
      this.db.close();
      rmSync(this.home, { recursive: true, force: true });
    });
  }

  start(): void {
    this.crashed = false;
    const inbox = new LocalInbox({ db: this.db, events: new LocalEvents(this.db), now: () => this.now });
    this.#scheduler = new Scheduler({
      jobs: this.jobs,
      clock: this.clock,
      logger: createFileLogger(this.home, "silent"),
      post: async (work) => {
        if (this.crashed) return new Promise(() => undefined);
        this.#posting += 1;
        await inbox.post(work);
        this.#posting -= 1;
        if (!this.crashesAfterPost) return;
        this.crashed = true;
        this.crashesAfterPost = false;
        await new Promise(() => undefined);
      },
    });
    this.#scheduler.start();
  }

  /** Moves the clock through every timer until then, or until the crash. */
  async until(at: number): Promise<void> {
    for (;;) {
      await this.quiet();
      const due = this.clock.nextAt;
      if (this.crashed || due === undefined || due > at) break;
      this.clock.move(Math.max(0, due - this.now));
    }
    if (!this.crashed) this.clock.move(Math.max(0, at - this.now));
  }

  async quiet(): Promise<void> {
    do await turn();
    while (this.#posting > 0);
    await turn();
  }

  end(): void {
    this.clock.clear();
    this.crashed = true;
  }

  /** Due times that are in the inbox, in the order of acceptance. */
  posted(id: string): number[] {
    return this.db
      .all<{ idempotency: string }>(
        "SELECT idempotency FROM work WHERE token = 'schedule' AND origin = ? ORDER BY seq",
        `job:${id}`,
      )
      .map(({ idempotency }) => Number(idempotency.split(":").at(-1)));
  }
}

function job(times: JobTimes, missed: MissedPolicy, more: Partial<NewJob> = {}): NewJob {
  return { agentId: "main", sessionKey: "work", times, missed, request: { prompt: "Look." }, ...more };
}

function allDue(times: JobTimes, until: number): number[] {
  const found: number[] = [];
  for (let at = dueAfter(times, START); at !== undefined && at <= until; at = dueAfter(times, at))
    found.push(at);
  return found;
}

function someTimes(next: () => number): JobTimes {
  const pick = Math.floor(next() * 3);
  const minute = 7 + Math.floor(next() * 50);
  if (pick === 0) return { kind: "cron", expression: `${minute} * * * *`, tz: "Europe/Berlin" };
  if (pick === 1) return { kind: "at", at: START + Math.floor(next() * 20) * HOUR_MS + minute * 60_000 };
  return { kind: "every", everyMs: (20 + minute) * 60_000, from: START };
}

describe("the schedule", () => {
  it("runs each due time once or by its policy, through restarts and crashes", async (t) => {
    for (let seed = 1; seed <= byLength(100, 3, 1); seed += 1) {
      const next = random(seed);
      const stage = new Stage(t);
      const jobs = Array.from({ length: 4 }, () =>
        stage.jobs.add(job(someTimes(next), next() < 0.5 ? "skip" : "once")),
      );
      /** Spans without a server. */
      const down: [from: number, to: number][] = [];
      const end = START + 24 * HOUR_MS;
      while (stage.now < end) {
        stage.start();
        stage.crashesAfterPost = next() < 0.5;
        await stage.until(Math.min(end, stage.now + next() * 4 * HOUR_MS));
        if (stage.now >= end) break;
        const from = stage.now;
        stage.end();
        stage.clock.move(next() < 0.5 ? 5_000 : next() * 5 * HOUR_MS);
        down.push([from, stage.now]);
      }
      stage.start();
      await stage.until(stage.now + 1_000);
      for (const { id, times, missed } of jobs) {
        const posted = stage.posted(id);
        const where = `seed ${seed}, ${JSON.stringify(times)}, ${missed}`;
        assert.equal(new Set(posted).size, posted.length, `${where}: none twice`);
        const due = allDue(times, stage.now);
        for (const at of posted) assert.ok(due.includes(at), `${where}: only due times`);
        for (const at of due) {
          const span = down.find(([from, to]) => at >= from && at < to);
          if (!span) assert.ok(posted.includes(at), `${where}: ${new Date(at).toISOString()} ran`);
          else if (missed === "skip" && at > span[0] && span[1] - at > MISSED_AFTER_MS)
            assert.ok(!posted.includes(at), `${where}: skipped`);
        }
        if (missed !== "once") continue;
        for (const [from, to] of down) {
          const inSpan = due.filter((at) => at > from && at < to);
          const ran = inSpan.filter((at) => posted.includes(at));
          assert.ok(ran.length <= 1, `${where}: at most one run for what was missed`);
        }
      }
      stage.end();
    }
  });

  it("runs a job that was asked for once, also when it is paused", async (t) => {
    const stage = new Stage(t);
    const { id } = stage.jobs.add(job({ kind: "every", everyMs: HOUR_MS, from: START }, "skip"));
    stage.jobs.pause(id);
    stage.start();
    await stage.until(START + 3 * HOUR_MS);
    assert.deepEqual(stage.posted(id), []);
    stage.jobs.runNow(id);
    await stage.until(stage.now + 5_000);
    assert.equal(stage.posted(id).length, 1);
    stage.end();
  });

  it("posts nothing while a file has not changed", async (t) => {
    const stage = new Stage(t);
    const path = join(stage.home, "mail.txt");
    const { id } = stage.jobs.add(
      job({ kind: "every", everyMs: HOUR_MS, from: START }, "skip", { check: { kind: "file", path } }),
    );
    const marked = async (hour: number): Promise<void> => {
      await stage.until(START + hour * HOUR_MS);
      while (stage.jobs.get(id).lastAt !== START + hour * HOUR_MS) await turn();
    };
    stage.start();
    await marked(1);
    assert.equal(stage.posted(id).length, 0);
    writeFileSync(path, "one");
    await marked(2);
    await marked(3);
    assert.equal(stage.posted(id).length, 1);
    writeFileSync(path, "two and more");
    await marked(4);
    assert.equal(stage.posted(id).length, 2);
    assert.equal(stage.jobs.get(id).lastOutcome, "posted");
    stage.end();
  });

  it("posts nothing while a command fails", async (t) => {
    const stage = new Stage(t);
    const times: JobTimes = { kind: "every", everyMs: HOUR_MS, from: START };
    const [no, yes] = ["exit 3", "exit 0"].map((command) =>
      stage.jobs.add(job(times, "skip", { check: { kind: "command", command } })),
    );
    stage.start();
    await stage.until(START + HOUR_MS);
    for (const each of [no, yes])
      while (stage.jobs.get(each?.id ?? "").lastOutcome === undefined) await turn();
    assert.equal(stage.jobs.get(no?.id ?? "").lastOutcome, "unneeded");
    assert.equal(stage.jobs.get(yes?.id ?? "").lastOutcome, "posted");
    stage.end();
  });
});
