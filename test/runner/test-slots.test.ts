import assert from "node:assert/strict";
import { test } from "node:test";
import { inSlots, SLOTS } from "../../scripts/test-slots.ts";

test("a run without jobs ends", async () => {
  await inSlots([], SLOTS, () => assert.fail("there is no job"));
});

test("each job runs once, and none starts after one that ends the run", async () => {
  const ran: number[] = [];
  await inSlots([1, 2, 3], { least: 1, most: 1 }, async (job) => {
    ran.push(job);
    return Promise.resolve(job < 2);
  });
  assert.deepEqual(ran, [1, 2]);
});
