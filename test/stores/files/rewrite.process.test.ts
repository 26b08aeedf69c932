import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import type { SessionReader } from "../../../packages/contract/src/session/writer.ts";
import { collect, openStore, seeded, temporaryFolder, textOf } from "./fixtures.ts";
import { FULL } from "../../runner/short-form.ts";
import { longTest } from "../../runner/long-tests.ts";

const MOMENTS = FULL ? 200 : 8;
const CHILD = join(import.meta.dirname, "rewrite.child.ts");

interface Report {
  ready?: boolean;
  turnId?: string;
  due?: boolean;
  version?: number;
  rotated?: string;
}

/**
 * Runs a writer that is killed some time after it began to write, or that dies in one of its file operations, and
 * returns what it had reported.
 */
async function killed(
  dir: string,
  moment: number,
  how: { delay: number } | { steps: number },
): Promise<Report[]> {
  const steps = "steps" in how ? how.steps : 0;
  const child = spawn(process.execPath, [CHILD, dir, `m${moment}`, String(moment), String(steps)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const reports: Report[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    // A kill can cut the last report.
    if (!line.endsWith("}")) continue;
    const report = JSON.parse(line) as Report;
    reports.push(report);
    if (report.ready && "delay" in how) void setTimeout(how.delay).then(() => child.kill("SIGKILL"));
  }
  const [, signal] = (await ended) as [number | null, string | null];
  assert.equal(signal, "SIGKILL");
  return reports;
}

/** The user messages of the path: each names its turn and the last rewrite, so a partial one would show. */
async function versions(view: Pick<SessionReader, "cursor">): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const entry of await collect(view.cursor.forward())) {
    if (entry.type !== "message" || entry.message.role !== "user") continue;
    const [, turnId = "", version = ""] = /^(\S+) v(\d+)$/.exec(textOf(entry.message)) ?? [];
    assert.ok(!found.has(turnId), `the turn ${turnId} is there twice`);
    found.set(turnId, Number(version));
  }
  assert.ok(new Set(found.values()).size <= 1, "a rewrite was taken in part");
  return found;
}

longTest(
  `a kill at ${MOMENTS} moments of rewrites and rotations leaves the old or the new session, whole`,
  async (t) => {
    const dir = temporaryFolder(t);
    const random = seeded(20_261_122);
    const known = new Set<string>();
    const due = new Set<string>();
    let partial = 0;
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const how = moment % 4 === 0 ? { delay: random() * 60 } : { steps: 1 + Math.floor(random() * 60) };
      const reports = await killed(dir, moment, how);
      for (const report of reports) if (report.turnId !== undefined) known.add(report.turnId);
      for (const report of reports) if (report.turnId !== undefined && report.due) due.add(report.turnId);
      const store = openStore(dir);
      const reader = store.openReader("main");
      const read = await versions(reader);
      const { sessionId } = reader.record;
      partial += reader.notices.filter(({ detail }) => detail.startsWith("A rewrite")).length;
      reader.close();

      const writer = store.openWriter("main", { cwd: "/w" });
      assert.equal(writer.record.sessionId, sessionId);
      const found = await versions(writer);
      assert.deepEqual(found, read);
      for (const turnId of known) assert.ok(found.has(turnId), `the turn ${turnId} is gone`);
      const rotated = reports.findLast((report) => report.rotated !== undefined)?.rotated;
      const version = reports.findLast((report) => report.version !== undefined)?.version;
      // Reported steps are done; one more step may be done without a report.
      if (version !== undefined) assert.ok(Math.max(...found.values()) >= version, "a rewrite is gone");
      const records = store.list().toSorted((a, b) => a.generation - b.generation);
      const at = records.findIndex((record) => record.sessionId === rotated);
      assert.ok(rotated === undefined || at >= records.length - 2, "a rotation is gone");
      assert.deepEqual(
        records.map((record) => record.current),
        records.map((_, index) => index === records.length - 1),
      );

      const interrupted = writer.notices.flatMap((notice) => notice.turnId ?? []);
      assert.ok(interrupted.length <= 1);
      for (const turnId of interrupted) assert.ok(!known.has(turnId), `${turnId} was committed`);
      for (const turnId of interrupted) due.add(turnId);
      const offered = Array.from(writer.unfinalizedTurns(), (turn) => turn.turnId);
      assert.equal(new Set(offered).size, offered.length);
      // A turn may have been committed without its report.
      for (const turnId of due) assert.ok(offered.includes(turnId), `${turnId} is not offered`);
      for (const turnId of offered) {
        assert.ok(found.has(turnId));
        writer.markFinalized(turnId);
      }
      due.clear();
      assert.deepEqual([...writer.unfinalizedTurns()], []);
      for (const turnId of found.keys()) known.add(turnId);
      writer.close();
      const earlier = store.openReader("main", records[0]?.sessionId);
      assert.ok(earlier.record.entryCount > 0);
      earlier.close();
      store.close();
    }
    assert.ok(partial > 0, "no kill hit a rewrite");
  },
);
