/** The kit's types against OpenClaw's own (`scripts/setup-openclaw.ts`), which fail with the name of each difference. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { driftOf } from "./drift-check.ts";

describe("the contract's types", () => {
  it("differ from OpenClaw's in nothing that is not declared", async () => {
    assert.equal(await driftOf(), "");
  });
});
