import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Calibration } from "../../packages/core/src/tokens/calibration.ts";

function within(value: number, expected: number, share: number): void {
  assert.ok(Math.abs(value / expected - 1) <= share, `${value}, expected about ${expected}`);
}

test("an estimate is unchanged without an observation", () => {
  assert.equal(new Calibration().apply(1_234), 1_234);
});

test("the first report sets the factor", () => {
  const calibration = new Calibration();
  calibration.observe(10_000, 13_000);
  assert.equal(calibration.apply(10_000), 13_000);
});

test("the factor converges to a steady ratio, from any state", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.6, max: 2.8, noNaN: true }),
      fc.double({ min: 0.5, max: 3, noNaN: true }),
      (ratio, old) => {
        const calibration = new Calibration({ factor: old, samples: 50 });
        for (let round = 0; round < 60; round++) calibration.observe(20_000, 20_000 * ratio);
        within(calibration.apply(100_000), 100_000 * ratio, 0.02);
      },
    ),
  );
});

test("noise around a ratio averages out", () => {
  const calibration = new Calibration();
  for (let round = 0; round < 100; round++)
    calibration.observe(10_000, 14_000 * (round % 2 === 0 ? 1.1 : 0.9));
  within(calibration.apply(10_000), 14_000, 0.06);
});

test("one outlier moves the factor by less than a tenth", () => {
  const calibration = new Calibration();
  for (let round = 0; round < 20; round++) calibration.observe(10_000, 12_000);
  calibration.observe(10_000, 1_000_000);
  within(calibration.apply(10_000), 12_000, 0.1);
  calibration.observe(10_000, 1);
  within(calibration.apply(10_000), 12_000, 0.1);
});

test("small requests and invalid reports are ignored", () => {
  const calibration = new Calibration();
  calibration.observe(499, 1_500);
  for (const nonsense of [0, -1, Number.NaN, Infinity]) {
    calibration.observe(10_000, nonsense);
    calibration.observe(nonsense, 10_000);
  }
  assert.deepEqual(calibration.toJSON(), { factor: 1, samples: 0 });
});

test("the factor stays within 0.5 and 3 whatever is reported", () => {
  const numbers = fc.array(fc.tuple(fc.double(), fc.double()), { maxLength: 50 });
  fc.assert(
    fc.property(numbers, (reports) => {
      const calibration = new Calibration();
      for (const [estimated, reported] of reports) calibration.observe(estimated, reported);
      const { factor } = calibration.toJSON();
      assert.ok(factor >= 0.5 && factor <= 3, String(factor));
    }),
  );
});

test("a calibration restored from JSON continues as if it had never stopped", () => {
  const whole = new Calibration();
  let resumed = new Calibration();
  for (let round = 1; round <= 12; round++) {
    whole.observe(10_000, 10_000 + round * 500);
    resumed.observe(10_000, 10_000 + round * 500);
    resumed = new Calibration(JSON.parse(JSON.stringify(resumed)));
  }
  assert.deepEqual(resumed.toJSON(), whole.toJSON());
});

test("a damaged state is ignored", () => {
  for (const state of [
    { factor: Number.NaN, samples: 3 },
    { factor: 2, samples: -1 },
    { factor: 2, samples: 0.5 },
  ]) {
    assert.equal(new Calibration(state).apply(1_000), 1_000);
  }
  assert.equal(new Calibration({ factor: 90, samples: 4 }).apply(1_000), 3_000);
});
