import assert from "node:assert/strict";
import { test } from "node:test";
import { loadOnce } from "../../packages/core/src/platform/load-once.ts";

test("a module is loaded when it is first needed, once, and again after a failure", async () => {
  let loads = 0;
  const load = loadOnce(() => {
    loads += 1;
    return loads === 1 ? Promise.reject(new Error("the disk is away")) : Promise.resolve({ loads });
  });
  assert.equal(loads, 0);
  await assert.rejects(async () => load(), /the disk is away/);
  assert.deepEqual([await load(), await load()], [{ loads: 2 }, { loads: 2 }]);
  assert.equal(loads, 2);
});
