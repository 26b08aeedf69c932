import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HarnessTurn } from "../../../packages/contract/src/harness/harness.ts";
import { endOf, endsWithin, type Steer } from "../../../packages/runtimes/src/thread/thread-steering.ts";
import { TestClock } from "../../runner/test-clock.ts";

/** A turn whose input arrives by `arrive`. */
function turnOf() {
  const abort = new AbortController();
  const arrivals: (() => void)[] = [];
  const inputArrives = (): Promise<void> => new Promise((resolve) => arrivals.push(resolve));
  const turn = { signal: abort.signal, io: { inputArrives } } as unknown as HarnessTurn;
  return { turn, abort, arrive: () => arrivals.at(-1)?.(), waits: () => arrivals.length };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("A native turn", () => {
  it("gets each input until no more can come, and then only its end is awaited", async () => {
    const { turn, arrive, waits } = turnOf();
    const ended = Promise.withResolvers<number>();
    const answers = [true, false];
    const steer: Steer = () => Promise.resolve(answers.shift() ?? false);
    const end = endOf(turn, { ended: ended.promise, stops: [], steer });
    arrive();
    await settled();
    assert.deepEqual(answers, [false]);
    arrive();
    await settled();
    assert.deepEqual([answers, waits()], [[], 2]);
    ended.resolve(7);
    assert.equal(await end, 7);
  });

  it("is stopped by the turn's abort or a stop of its own, also after its last input", async () => {
    const steer: Steer = () => Promise.resolve(false);
    const never = new Promise<never>(() => undefined);
    const aborted = turnOf();
    const one = endOf(aborted.turn, { ended: never, stops: [], steer });
    aborted.arrive();
    await settled();
    aborted.abort.abort();
    assert.equal(await one, "aborted");
    const stopped = Promise.resolve("exceeded" as const);
    assert.equal(await endOf(turnOf().turn, { ended: never, stops: [stopped], steer }), "exceeded");
  });

  it("that has ended gets no input that arrives with its end", async () => {
    const { turn, arrive } = turnOf();
    const steered: string[] = [];
    const steer: Steer = () => {
      steered.push("input");
      return Promise.resolve(true);
    };
    const ended = Promise.withResolvers<string>();
    const end = endOf(turn, { ended: ended.promise, stops: [], steer });
    ended.resolve("done");
    arrive();
    assert.deepEqual([await end, steered], ["done", []]);
  });

  it("has ended in time also when it fails, and not when it says nothing", async () => {
    assert.equal(await endsWithin(Promise.reject(new Error("gone")), 60_000), true);
    const clock = new TestClock();
    const isOver = endsWithin(new Promise(() => undefined), 60_000, clock);
    clock.move(60_000);
    assert.equal(await isOver, false);
  });
});
