import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { inAttemptEnabled, reservedTokens } from "../../packages/core/src/compaction/policy.ts";

const flags = fc.record(
  { ownsCompaction: fc.boolean(), interceptsCompaction: fc.boolean() },
  { requiredKeys: [] },
);
const settings = fc.option(
  fc.record(
    {
      reserveTokens: fc.integer({ min: 0, max: 300_000 }),
      reserveTokensFloor: fc.integer({ min: 0, max: 300_000 }),
    },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);
const window = fc.integer({ min: 1, max: 2_000_000 });

test("the reserve is never negative and never more than a quarter of the window", () => {
  fc.assert(
    fc.property(window, settings, flags, (size, wanted, engine) => {
      const reserved = reservedTokens(size, wanted, engine);
      assert.ok(Number.isInteger(reserved) && reserved >= 0 && reserved <= size / 4);
    }),
  );
});

test("the reserve of an engine that owns or intercepts compaction never exceeds that of one that does neither", () => {
  fc.assert(
    fc.property(window, settings, flags, (size, wanted, engine) => {
      assert.ok(reservedTokens(size, wanted, engine) <= reservedTokens(size, wanted, {}));
    }),
  );
});

test("an explicit reserve applies to every engine, as far as the window allows", () => {
  fc.assert(
    fc.property(window, settings, flags, (size, wanted, engine) => {
      const explicit = wanted?.reserveTokens;
      if (explicit === undefined) return;
      assert.ok(reservedTokens(size, wanted, engine) >= Math.min(explicit, Math.floor(size / 4)));
    }),
  );
});

const OWNS = { ownsCompaction: true };
const INTERCEPTS = { interceptsCompaction: true };
const RESERVES: [string, Parameters<typeof reservedTokens>, number][] = [
  ["nothing configured: the floor", [200_000, undefined, {}], 20_000],
  ["nothing configured, owning engine: no floor", [200_000, undefined, OWNS], 16_384],
  ["nothing configured, intercepting engine: no floor", [200_000, {}, INTERCEPTS], 16_384],
  ["both flags: no floor", [200_000, {}, { ...OWNS, ...INTERCEPTS }], 16_384],
  ["a floor is nothing to an owning engine", [200_000, { reserveTokensFloor: 40_000 }, OWNS], 16_384],
  ["an explicit reserve below the floor", [200_000, { reserveTokens: 5_000 }, {}], 20_000],
  ["the same under an intercepting engine", [200_000, { reserveTokens: 5_000 }, INTERCEPTS], 5_000],
  ["an explicit reserve of nothing under an owning engine", [200_000, { reserveTokens: 0 }, OWNS], 0],
  ["an explicit reserve above the floor", [200_000, { reserveTokens: 30_000 }, OWNS], 30_000],
  ["a floor of nothing leaves the default reserve", [200_000, { reserveTokensFloor: 0 }, {}], 16_384],
  ["a small window: a quarter of it", [32_000, undefined, {}], 8_000],
  ["the cap comes after what is explicit", [32_000, { reserveTokens: 20_000 }, OWNS], 8_000],
  ["a tiny window", [1_000, undefined, INTERCEPTS], 250],
];
for (const [name, input, expected] of RESERVES) {
  test(`reserved tokens: ${name}`, () => {
    assert.equal(reservedTokens(...input), expected);
  });
}

/** owns, intercepts, mode, truncates silently, is the in-attempt lane on. */
const LANE: [boolean, boolean, "default" | "safeguard", boolean, boolean][] = [
  [false, false, "default", false, true],
  [false, false, "safeguard", false, false],
  [true, false, "default", false, false],
  [true, false, "safeguard", false, false],
  [false, true, "default", false, true],
  [false, true, "safeguard", false, true],
  [true, true, "default", false, true],
  [true, true, "safeguard", false, true],
  [false, false, "default", true, false],
  [false, false, "safeguard", true, false],
  [true, false, "default", true, false],
  [true, false, "safeguard", true, false],
  [false, true, "default", true, false],
  [false, true, "safeguard", true, false],
  [true, true, "default", true, false],
  [true, true, "safeguard", true, false],
];
for (const [ownsCompaction, interceptsCompaction, mode, truncates, expected] of LANE) {
  const engine = `${ownsCompaction ? "owns" : "does not own"}, ${interceptsCompaction ? "intercepts" : "does not intercept"}`;
  const provider = truncates ? ", at a provider that truncates silently" : "";
  test(`the in-attempt lane is ${expected ? "on" : "off"}: ${engine}, ${mode}${provider}`, () => {
    assert.equal(inAttemptEnabled({ ownsCompaction, interceptsCompaction }, mode, truncates), expected);
    // An absent flag counts as false.
    const flags = {
      ...(ownsCompaction ? OWNS : {}),
      ...(interceptsCompaction ? INTERCEPTS : {}),
    };
    assert.equal(inAttemptEnabled(flags, mode, truncates), expected);
  });
}
