import assert from "node:assert/strict";
import { test } from "node:test";
import { runStoreSuite, storeChecks, type StoreSuiteOptions } from "../../packages/testkit/src/index.ts";
import { openStore, orphanLock } from "../stores/files/fixtures.ts";
import { SHARED_MUTANTS, SHARING } from "./shared-mutants.ts";
import { STORE_MUTANTS } from "./store-mutants.ts";
import { firstOf } from "../runner/long-tests.ts";

const abandon: StoreSuiteOptions["abandon"] = (writer) => orphanLock(writer.record.file);

const MUTANTS = { ...STORE_MUTANTS, ...SHARED_MUTANTS };

test("every check of the suite of stores has a store that fails it", () => {
  const ids = storeChecks().map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(Object.keys(MUTANTS).toSorted(), ids.toSorted());
});

for (const [id, open] of firstOf(Object.entries(MUTANTS), 4)) {
  test(`the check ${id} fails for a store that does not meet it`, async () => {
    const [result] = (await runStoreSuite({ open, abandon, only: [id] })).results;
    assert.equal(result?.status, "failed", `${result?.status}: ${result?.reason}`);
    assert.ok((result.reason ?? "").length > 10, "the reason is a sentence");
  });
}

test("a store that shares what is beside the transcripts passes, and one that does not skips the checks", async () => {
  const only = ["shared.receipts", "shared.thread", "shared.spend", "shared.delete"];
  for (const [open, status] of [
    [SHARING, "passed"],
    [({ dir }: { dir: string }) => openStore(dir), "skipped"],
  ] as const) {
    const { results } = await runStoreSuite({ open, only });
    assert.deepEqual(
      results.map((each) => [each.id, each.status, each.status === "failed" ? each.reason : ""]),
      only.map((id) => [id, status, ""]),
    );
  }
});

test("a store that cannot be abandoned skips the checks of crashes, and a broken one fails each", async () => {
  const { results } = await runStoreSuite({
    open: ({ dir }) => openStore(dir),
    only: ["crash.fence", "open.missing"],
  });
  assert.deepEqual(
    results.map(({ id, status, reason }) => [id, status, reason]),
    [
      ["open.missing", "passed", undefined],
      ["crash.fence", "skipped", "not offered: The store has no abandon()."],
    ],
  );
  const open = (): never => {
    throw new Error("no database");
  };
  const broken = await runStoreSuite({ open, only: ["open.missing"] });
  assert.deepEqual([broken.failed, broken.results[0]?.reason], [1, "no database"]);
});
