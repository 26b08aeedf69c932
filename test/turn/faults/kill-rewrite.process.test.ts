import assert from "node:assert/strict";
import { describe } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { random } from "../../runner/seeded-random.ts";
import { killAndGoOn, withModel, WORDS } from "./kill-model.ts";
import { FULL } from "../../runner/short-form.ts";
import { longTest } from "../../runner/long-tests.ts";

const KILLS = FULL ? 60 : 2;

describe(`kill -9 inside a rotation, ${KILLS} times`, () => {
  longTest("leaves the session before or after it, whole, and each turn taken once", async () => {
    const next = random(20_261_124);
    await withModel({ compact: "rotate", owns: true }, async (bench, model) => {
      const rotations = { seen: 0, killed: 0 };
      for (let kill = 0; kill < KILLS; kill++) {
        bench.hold("rotate");
        const begun = bench.begin(WORDS.repeat(2) + WORDS.slice(0, WORDS.length / 2));
        assert.ok(await bench.reached("rotate", begun.running), "the engine is asked");
        const before = bench.sessionId();
        bench.release();
        await pause(next() * 60);
        // At least one is killed after its rotation, however busy the machine is.
        if (kill === 0)
          while (bench.sessionId() === before && begun.running.child.exitCode === null) await pause(1);
        if (await bench.kill(begun.running)) rotations.killed += 1;
        if (bench.sessionId() !== before) rotations.seen += 1;
        await killAndGoOn(bench, model, begun, WORDS);
      }
      assert.ok(rotations.killed > KILLS / 3, `${rotations.killed} were killed while they ran`);
      assert.ok(rotations.seen > 0, "some had rotated");
    });
  });
});

describe(`kill -9 inside a rewrite, ${KILLS} times`, () => {
  longTest("leaves each message original or rewritten, and its old text by its old id", async () => {
    const next = random(20_261_125);
    await withModel({ rewrites: 3 }, async (bench, model) => {
      const original = new Map<string, string>();
      let killed = 0;
      let rewritten = 0;
      for (let kill = 0; kill < KILLS; kill++) {
        bench.hold("maintain");
        const begun = bench.begin();
        assert.ok(await bench.reached("maintain", begun.running), "the engine is asked");
        for (const entry of bench.current())
          if (entry.type === "message" && !original.has(entry.id))
            original.set(entry.id, JSON.stringify(entry));
        bench.release();
        await pause(next() * 25);
        if (await killAndGoOn(bench, model, begun)) killed += 1;
        const now = new Map(bench.current().map((entry) => [entry.id, JSON.stringify(entry)]));
        for (const [id, line] of original)
          assert.equal(now.get(id), line, "the old words are there by the old id");
        const answers = bench
          .path()
          .flatMap((entry) =>
            entry.type === "message" && entry.message.role === "assistant"
              ? [JSON.stringify(entry.message.content)]
              : [],
          );
        if (answers.some((answer) => /~\d"/.test(answer))) rewritten += 1;
        for (const answer of answers) assert.match(answer, /"text":"Answer of \d+\.(~\d)?"/);
      }
      assert.ok(rewritten > 0, "some had been rewritten");
      assert.ok(killed > KILLS / 3, `${killed} were killed while they ran`);
    });
  });
});
