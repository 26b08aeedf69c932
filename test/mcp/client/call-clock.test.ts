import assert from "node:assert/strict";
import { test } from "node:test";
import { CallClock, type Late } from "../../../packages/host/src/mcp/client/call-clock.ts";
import { TestClock } from "../../runner/test-clock.ts";

function clockOf(work: (clock: CallClock, pass: (ms: number) => void, late: Late[]) => void): void {
  const time = new TestClock();
  const late: Late[] = [];
  const clock = new CallClock({ timeoutMs: 100, longestCallMs: 250 }, (how) => late.push(how), time);
  work(clock, (ms) => time.move(ms), late);
  clock.end();
  assert.deepEqual(time.pending, []);
}

test("a sign of life begins the timeout again, and not that of the whole call", () => {
  clockOf((clock, pass, late) => {
    for (let signs = 0; signs < 2; signs += 1) {
      pass(99);
      clock.touch();
    }
    pass(51);
    assert.deepEqual(late, []);
    pass(1);
    assert.deepEqual(late, ["long"]);
    pass(48);
    assert.deepEqual(late, ["long", "silent"]);
  });
});

test("a call without a sign of life is late after its timeout", () => {
  clockOf((_clock, pass, late) => {
    pass(99);
    assert.deepEqual(late, []);
    pass(1);
    assert.deepEqual(late, ["silent"]);
  });
});

test("both limits are paused while the person is asked, and continue after the answer", () => {
  clockOf((clock, pass, late) => {
    pass(60);
    clock.pause();
    clock.pause();
    pass(10_000);
    clock.resume();
    pass(10_000);
    clock.resume();
    assert.deepEqual(late, []);
    pass(99);
    assert.deepEqual(late, []);
    pass(1);
    assert.deepEqual(late, ["silent"]);
    pass(90);
    assert.deepEqual(late, ["silent", "long"]);
  });
});

test("a call that has ended is never late", () => {
  clockOf((clock, pass, late) => {
    clock.pause();
    clock.end();
    clock.resume();
    pass(1_000);
    assert.deepEqual(late, []);
  });
});
