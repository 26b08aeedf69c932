import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { random } from "../../runner/seeded-random.ts";
import { killAndGoOn, withModel, WORDS } from "./kill-model.ts";
import { FULL } from "../../runner/short-form.ts";
import { firstOf, longTest } from "../../runner/long-tests.ts";

const KILLS = FULL ? 25 : 1;

describe(`kill -9 inside a compaction, ${KILLS} times each`, () => {
  for (const lane of firstOf(["queued", "in-attempt"])) {
    it(`while the summary of the ${lane} lane is being written`, async () => {
      await withModel({}, async (bench, model) => {
        for (let kill = 0; kill < KILLS; kill++) {
          if (lane === "in-attempt") await bench.whole(WORDS);
          model.hold = true;
          const opened = model.opened();
          const begun = bench.begin(lane === "queued" ? WORDS.repeat(2) : "look!");
          await Promise.race([opened, begun.running.finished.then(() => assert.fail("it ended before"))]);
          const started = await begun.running.seen("compaction.started");
          assert.ok(started.type === "compaction.started" && started.lane === lane);
          const compactions = bench.path().filter(({ type }) => type === "compaction").length;
          await killAndGoOn(bench, model, begun);
          const now = bench.path().filter(({ type }) => type === "compaction").length;
          assert.ok(now - compactions <= 1, "at most the next turn's own compaction");
        }
      });
    });
  }

  longTest("right after compaction.completed, and at moments around it", async () => {
    const next = random(20_261_123);
    await withModel({}, async (bench, model) => {
      for (let kill = 0; kill < KILLS * 2; kill++) {
        const begun = bench.begin(WORDS.repeat(2));
        await begun.running.seen(kill % 2 === 0 ? "compaction.completed" : "compaction.started");
        if (kill % 2 === 1) await pause(next() * 40);
        await killAndGoOn(bench, model, begun);
      }
    });
  });
});
