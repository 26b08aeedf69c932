import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTable, withPeer, withTarget } from "../../bench/report.ts";

test("a target is met or missed by the value", () => {
  const row = { measure: "speed", value: 50, unit: "MB/s" };
  assert.deepEqual(withTarget(row, ">=", 50), { ...row, target: ">= 50", ok: true });
  assert.equal(withTarget(row, "<=", 49).ok, false);
});

test("a peer is shown next to the value with the ratio", () => {
  const row = withPeer({ measure: "speed", value: 50, unit: "MB/s" }, "other", 20);
  assert.deepEqual(row.peer, { name: "other", value: 20 });
  assert.equal(row.ratio, 2.5);
});

test("the table leaves out columns that no row uses and says which targets were missed", () => {
  const rows = [
    { measure: "time", value: 1_234.5, unit: "ms" },
    withTarget({ measure: "error", value: 12.34, unit: "%" }, "<=", 10),
  ];
  assert.equal(
    formatTable(rows),
    ["measure  value  unit  target", "time     1,235  ms", "error     12.3  %     <= 10   MISSED"].join("\n"),
  );
});
