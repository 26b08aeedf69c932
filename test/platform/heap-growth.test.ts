import assert from "node:assert/strict";
import { it } from "node:test";
import { collectUnused } from "../../packages/core/src/platform/heap-growth.ts";

it("collects unused objects at once, and keeps no function for it", () => {
  let unused: object[] | undefined = Array.from({ length: 300_000 }, (_, index) => ({ index }));
  const before = process.memoryUsage().heapUsed;
  assert.equal(unused.length, 300_000);
  unused = undefined;
  collectUnused();
  assert.ok(process.memoryUsage().heapUsed < before - 5_000_000);
  assert.equal(globalThis.gc, undefined);
});
