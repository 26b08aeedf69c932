import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { random } from "../../runner/seeded-random.ts";
import { KillBench, type EngineConfig } from "./kill-bench.ts";
import type { WireBody } from "../wire-bodies.ts";
import type { ReplyStep } from "../../servers/server.ts";
import { FULL } from "../../runner/short-form.ts";
import { firstOf, longTest } from "../../runner/long-tests.ts";

const KILLS = FULL ? 25 : 1;

/** A tool round, then an answer. */
function script(body: WireBody): ReplyStep {
  const last = body.messages.at(-1);
  if (last?.role === "tool") return { text: `Answer to ${body.messages.length}.` };
  const call = { id: `c${body.messages.length}`, name: "shell", arguments: { command: "echo seen" } };
  return { text: "Looking.", toolCalls: [call] };
}

async function withEngine(engine: EngineConfig, work: (bench: KillBench) => Promise<void>): Promise<void> {
  const bench = await KillBench.open(engine, script);
  try {
    await work(bench);
  } finally {
    await bench.end();
  }
}

describe(`kill -9 between the transcript's commit and the engine's, ${KILLS} times each`, () => {
  for (const point of firstOf(["committed", "commit"])) {
    it(`at "${point}" of commitTurn: each turn is taken exactly once`, async () => {
      await withEngine({}, async (bench) => {
        for (let kill = 0; kill < KILLS; kill++) {
          bench.hold(point);
          const { running, input } = bench.begin();
          assert.ok(await bench.reached(point, running));
          assert.ok(await bench.kill(running));
          assert.ok(bench.noteCommitted(input), "the turn was in the transcript as a whole");
          bench.snapshot();
          bench.release();
          const after = await bench.whole();
          assert.ok(after.last?.type === "turn.completed" && after.last.degraded.length === 0);
          bench.assertTakenOnce();
          const duplicates = bench.engineLog().filter(({ duplicate }) => duplicate !== undefined).length;
          assert.equal(duplicates, point === "committed" ? kill + 1 : 0);
        }
      });
    });
  }

  longTest("at any moment around commitTurn: each turn is taken exactly once", async () => {
    const next = random(20_261_122);
    await withEngine({}, async (bench) => {
      for (let kill = 0; kill < KILLS; kill++) {
        const { running, input } = bench.begin();
        // The point is passed at once; then come the engine's write, its answer, the host's record, the end.
        assert.ok(await Promise.race([bench.reached("commit", running), running.finished.then(() => true)]));
        const until = performance.now() + next() * 12;
        while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve));
        await bench.kill(running);
        bench.noteCommitted(input);
        bench.snapshot();
        bench.release();
        await bench.whole();
        bench.assertTakenOnce();
      }
    });
  });

  for (const point of ["commit", "committed"]) {
    longTest(`at "${point}" of afterTurn: each turn is offered until it is taken`, async () => {
      await withEngine({ settle: "afterTurn" }, async (bench) => {
        const inputs: string[] = [];
        for (let kill = 0; kill < KILLS / 2; kill++) {
          bench.hold(point);
          const { running, input } = bench.begin();
          assert.ok(await bench.reached(point, running));
          assert.ok(await bench.kill(running));
          assert.ok(bench.noteCommitted(input));
          bench.snapshot();
          bench.release();
          const after = await bench.whole();
          inputs.push(input, after.input);
          const taken = bench.engineLog().map(({ after: texts }) => /Input-\d+;/.exec(texts?.[0] ?? "")?.[0]);
          for (const [index, each] of inputs.entries()) {
            // Killed inside the call: at least once, and here the engine had written it already.
            const times = point === "committed" && index % 2 === 0 ? 2 : 1;
            assert.equal(taken.filter((one) => one === each).length, times, `${each} of ${taken.join(" ")}`);
          }
        }
      });
    });
  }
});
