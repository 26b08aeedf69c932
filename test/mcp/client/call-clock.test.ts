import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { CallClock, type Late } from "../../../packages/host/src/mcp/client/call-clock.ts";

function clockOf(work: (clock: CallClock, pass: (ms: number) => void, late: Late[]) => void): void {
  mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const clock_ = mock.method(performance, "now", () => now);
  const late: Late[] = [];
  const clock = new CallClock({ timeoutMs: 100, longestCallMs: 250 }, (how) => late.push(how));
  const pass = (ms: number): void => {
    now += ms;
    mock.timers.tick(ms);
  };
  try {
    work(clock, pass, late);
  } finally {
    clock.end();
    clock_.mock.restore();
    mock.timers.reset();
  }
}

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
