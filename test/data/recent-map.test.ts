import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentMap } from "../../packages/core/src/data/recent-map.ts";

test("a map of recent entries drops the one that was not used for the longest time", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  assert.equal(map.get("a"), 1);
  map.set("c", 3);
  assert.deepEqual(
    ["a", "b", "c"].map((key) => map.get(key)),
    [1, undefined, 3],
  );
});

test("a map of recent entries makes one that it lacks, and keeps it", () => {
  const map = new RecentMap<string, object>(2);
  const made = map.of("a", () => ({}));
  assert.equal(
    map.of("a", () => ({})),
    made,
  );
  map.delete("a");
  assert.notEqual(
    map.of("a", () => ({})),
    made,
  );
});
