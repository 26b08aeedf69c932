import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PagurusConfig } from "../../packages/core/src/config/config-types.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openServerDatabase } from "../../packages/inbox/src/server-database.ts";
import { syncHeartbeats } from "../../packages/inbox/src/schedule/heartbeats.ts";
import { JobStore } from "../../packages/inbox/src/schedule/job-store.ts";

describe("the heartbeats of a configuration", () => {
  it("are a job for each agent that has one; an unchanged one keeps its due time, a removed one ends", async () => {
    const home = mkdtempSync(join(tmpdir(), "pagurus-test-"));
    const db = openServerDatabase(home);
    try {
      let now = 1_000_000;
      const jobs = new JobStore(db, () => now);
      const heartbeat = { every: "10m" };
      const config: PagurusConfig = {
        agents: {
          defaults: { heartbeat },
          list: [{ id: "cook", heartbeat: { every: "1h", session: "kitchen" } }],
        },
      };
      await syncHeartbeats(jobs, config);
      const before = jobs.list();
      assert.deepEqual(
        before.map(({ id, agentId, sessionKey }) => [id, agentId, sessionKey]),
        [
          ["heartbeat-main", "main", "main"],
          ["heartbeat-cook", "cook", "kitchen"],
        ],
      );
      now += 30_000;
      await syncHeartbeats(jobs, config);
      assert.deepEqual(jobs.list(), before);
      await syncHeartbeats(jobs, { agents: { defaults: { heartbeat: { every: "20m" } } } });
      assert.deepEqual(
        jobs.list().map(({ id, times }) => [id, times.kind === "every" && times.everyMs]),
        [["heartbeat-main", 1_200_000]],
      );
      for (const off of [
        { every: "0m" },
        { every: "20m", activeHours: { start: "08:00", end: "08:00", timezone: "UTC" } },
      ]) {
        await syncHeartbeats(jobs, { agents: { defaults: { heartbeat: { every: "20m" } } } });
        assert.equal(jobs.list().length, 1);
        await syncHeartbeats(jobs, { agents: { defaults: { heartbeat: off } } });
        assert.deepEqual(jobs.list(), []);
      }
    } finally {
      db.close();
      rmSync(home, { recursive: true, force: true });
    }
  });
});
