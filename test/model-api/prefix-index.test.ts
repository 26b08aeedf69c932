import assert from "node:assert/strict";
import { test } from "node:test";
import { MEMORY, openSqlite } from "../../packages/core/src/data/sqlite.ts";
import { PrefixIndex } from "../../packages/server/src/model-api/prefix-index.ts";

test("of thousands of conversations with the same beginning a limited number is considered, the preferred one among them", () => {
  const db = openSqlite(MEMORY);
  try {
    const index = new PrefixIndex(db);
    for (let count = 0; count < 1_000; count++) {
      index.note("t", `head-${count}`, ["hello"]);
      index.note("t", `longer-${count}`, ["hello", `answer-${count}`]);
    }
    const found = index.longest("t", ["hello", "unknown"], "head-0");
    assert.ok(found.length <= 40, `${found.length} sessions`);
    assert.deepEqual(found.slice(0, 2), [
      { sessionKey: "head-0", count: 1, isHead: true },
      { sessionKey: "head-999", count: 1, isHead: true },
    ]);
    assert.equal(found.at(-1)?.isHead, false);
    assert.ok(found.every(({ sessionKey, isHead }) => sessionKey.startsWith("head-") === isHead));
    assert.deepEqual(index.longest("t", ["hello", "answer-7"]), [
      { sessionKey: "longer-7", count: 2, isHead: true },
    ]);
    assert.deepEqual(index.longest("other", ["hello"]), []);
  } finally {
    db.close();
  }
});
