import assert from "node:assert/strict";
import { it } from "node:test";
import { HeldCosts } from "../../packages/host/src/turn/cost/held-costs.ts";

it("amounts held by two requests at once leave nothing when both are released", () => {
  const held = new HeldCosts();
  const first = held.hold(["a"], 0.1);
  const second = held.hold(["a"], 0.2);
  assert.ok(held.of("a") > 0.29);
  first();
  second();
  assert.equal(held.of("a"), 0);
});
