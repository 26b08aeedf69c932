import assert from "node:assert/strict";
import { describe } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { ReplyStep } from "../../servers/server.ts";
import type { WireBody } from "../wire-bodies.ts";
import { random } from "../../runner/seeded-random.ts";
import { KillBench } from "./kill-bench.ts";
import { FULL } from "../../runner/short-form.ts";
import { longTest } from "../../runner/long-tests.ts";

const KILLS = FULL ? 60 : 3;
const POINTS = ["prepare", "running", "tell", "ended", "any"] as const;

/** A parent that starts one child, and children that can be delayed. */
class Model {
  hold = false;
  #opened = Promise.withResolvers<void>();

  /** Resolves when a delayed child has called its model. */
  opened(): Promise<void> {
    this.#opened = Promise.withResolvers<void>();
    return this.#opened.promise;
  }

  reply(body: WireBody): ReplyStep {
    const [first] = body.messages;
    if (first?.text.startsWith("Child task")) {
      const text = `Result of ${first.text}`;
      if (!this.hold) return { text };
      this.#opened.resolve();
      return { text, hangAfterChunks: 1 };
    }
    const at = body.messages.findLastIndex(({ text }) => text.includes("Input-"));
    const [input = ""] = /Input-\d+;/.exec(body.messages[at]?.text ?? "") ?? [];
    const spawns = body.messages[at]?.text.includes("spawn!") === true;
    const spawned = body.messages.slice(at).some(({ calls }) => calls.length > 0);
    if (!spawns || spawned) return { text: "Said." };
    const call = { id: `c-${input}`, name: "spawn_agent", arguments: { task: `Child task of ${input}` } };
    return { text: "Starting one.", toolCalls: [call] };
  }
}

function preparedIn(bench: KillBench): string[] {
  return bench.engineLog().flatMap(({ prepared }) => (prepared === undefined ? [] : [prepared]));
}

/** Ends of a child that the engine was notified of. */
function endsOf(bench: KillBench, key: string): string[] {
  return bench.engineLog().flatMap(({ ended, reason }) => (ended === key ? [reason ?? ""] : []));
}

async function settle(
  bench: KillBench,
  kill: { input: string; point: (typeof POINTS)[number]; prepared: number },
): Promise<void> {
  const prepared = preparedIn(bench);
  const delivered = bench.noteCommitted(kill.input);
  bench.snapshot();
  bench.release();
  const after = await bench.whole();
  bench.assertTakenOnce();
  for (const key of prepared) {
    const ends = endsOf(bench, key);
    // Killed during the notification, the engine may receive the same end again.
    assert.ok(ends.length >= 1 && ends.length <= 2, `${key} ended: ${ends.join()}`);
    assert.equal(new Set(ends).size, 1, `${key} ended in one way`);
  }
  const report = await bench.status();
  assert.deepEqual(report.subagents, [], "no child is left, and no result waits");
  const text = after.body.messages.map((message) => message.text).join("\n");
  // A kill before the engine was notified of a child leaves none.
  const child = prepared.slice(kill.prepared).at(-1);
  if (kill.point === "running") {
    assert.ok(text.includes(`<subagent_result session="${child}"`), "the child's end is told");
    assert.match(text, /The process that ran it ended before it had finished/);
  }
  if (kill.point === "tell")
    assert.ok(text.includes(`Result of Child task of ${kill.input}`), "its result is not lost");
  const ran = endsOf(bench, child ?? "").includes("completed");
  if (ran && !delivered) {
    assert.ok(
      text.includes(`Result of Child task of ${kill.input}`),
      "what the parent did not see is given again",
    );
  }
}

describe(`kill -9 inside a subagent's spawn, ${KILLS} times`, () => {
  longTest(
    "leaves no orphaned child, and its end is reported to the engine and to the next turn",
    async () => {
      const next = random(20_261_126);
      const model = new Model();
      const bench = await KillBench.open({}, (body) => model.reply(body));
      try {
        await bench.whole();
        for (let kill = 0; kill < KILLS; kill++) {
          const point = POINTS[kill % POINTS.length] ?? "any";
          model.hold = point === "running";
          if (point === "prepare" || point === "tell") bench.hold(point);
          const prepared = preparedIn(bench).length;
          const opened = model.opened();
          const { running, input } = bench.begin("spawn!");
          if (point === "prepare" || point === "tell") assert.ok(await bench.reached(point, running));
          if (point === "running") await opened;
          if (point === "ended") await running.seen("subagent.ended");
          if (point === "any") {
            await running.seen("tool.started");
            await pause(next() * 60);
          }
          await bench.kill(running);
          model.hold = false;
          await settle(bench, { input, point, prepared });
        }
      } finally {
        await bench.end();
      }
    },
  );
});
