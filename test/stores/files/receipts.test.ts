import assert from "node:assert/strict";
import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import type { Receipt, ReceiptPart } from "../../../packages/contract/src/session/receipt.ts";
import { openReceiptLog, receiptFile } from "../../../packages/host/src/stores/files/receipt-log.ts";
import { openStore, temporaryFolder } from "./fixtures.ts";
import { byLength } from "../../runner/short-form.ts";

function part(number: number): ReceiptPart {
  return {
    source: "history",
    role: "user",
    entryId: `e${number}`,
    tokens: number,
    bytes: number,
    hash: `h${number}`,
  };
}

function receipt(request: number, parts: number[], sharedParts: number): Receipt {
  return {
    turnId: `t${request >> 2}`,
    request: request & 3,
    timestamp: "2026-01-01T00:00:00.000Z",
    seam: "embedded",
    runtime: "embedded",
    engine: "legacy",
    model: "p/m",
    parts: parts.map(part),
    sharedParts,
    sharedTokens: 0,
    liveFrom: 0,
    tokens: 1,
    tokenBudget: 2,
  };
}

test("receipts read back whole: with any shared parts, reopened, with usage added or claimed wrongly", (t) => {
  const root = temporaryFolder(t);
  let count = 0;
  const change = fc.record({
    cut: fc.nat(6),
    add: fc.array(fc.nat(9), { maxLength: 4 }),
    reopen: fc.boolean(),
    usage: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 150 }), (changes) => {
      const file = join(root, `${(count += 1)}.jsonl`);
      let log = openReceiptLog({ file });
      let parts: number[] = [];
      const all: Receipt[] = [];
      for (const [at, { cut, add, reopen, usage }] of changes.entries()) {
        parts = [...parts.slice(0, Math.max(0, parts.length - cut)), ...add];
        const made = receipt(at, parts, parts.length - (at % 3));
        log.append(made);
        if (reopen) log = openReceiptLog({ file });
        if (usage) {
          made.usage = { input: at, output: 1, totalTokens: at + 1 };
          log.setUsage(made.turnId, made.request, made.usage);
        }
        all.push(made);
        assert.deepEqual(log.last(), made);
      }
      assert.deepEqual(log.read(), all);
      assert.deepEqual(openReceiptLog({ file }).read("t0"), all.slice(0, 4));
      assert.deepEqual(openReceiptLog({ file }).last(), all.at(-1));
    }),
    { numRuns: byLength(300, 40, 15) },
  );
});

test("a receipt needs only the bytes of its differences", (t) => {
  const file = join(temporaryFolder(t), "r.jsonl");
  const log = openReceiptLog({ file });
  const parts = Array.from({ length: 1_000 }, (_, at) => at);
  log.append(receipt(0, parts, 0));
  const whole = statSync(file).size;
  log.append(receipt(1, [...parts, 1_000], 1_000));
  assert.ok(statSync(file).size < whole + 1_000);
  assert.equal(log.last()?.parts.length, 1_001);
});

test("the newest receipt of a turn's own request is found before later completions, reopened too", (t) => {
  const file = join(temporaryFolder(t), "r.jsonl");
  const log = openReceiptLog({ file });
  assert.equal(log.lastOwn(), undefined);
  log.append(receipt(0, [1, 2], 0));
  const own = receipt(1, [1, 2, 3], 2);
  log.append(own);
  const usage = { input: 5, output: 1, totalTokens: 6 };
  log.setUsage(own.turnId, own.request, usage, { responseId: "r1" });
  log.append({ ...receipt(2, [7], 0), purpose: "compaction" });
  log.append({ ...receipt(3, [8], 0), purpose: "compaction" });
  const expected = { ...own, usage, cache: { responseId: "r1" } };
  assert.deepEqual(log.lastOwn(), expected);
  assert.deepEqual(openReceiptLog({ file }).lastOwn(), expected);
  assert.deepEqual(log.last()?.purpose, "compaction");
});

test("the newest own receipt and what completed after it are those of all receipts, whoever writes and whatever tears", (t) => {
  const root = temporaryFolder(t);
  let count = 0;
  const change = fc.record({
    isCompletion: fc.boolean(),
    keeps: fc.boolean(),
    usageOf: fc.option(fc.nat(8), { nil: undefined }),
    writer: fc.nat(2),
    tear: fc.nat(9).map((drawn) => drawn === 0),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 90 }), (changes) => {
      const file = join(root, `${(count += 1)}.jsonl`);
      const logs = [0, 1, 2].map(() => openReceiptLog({ file }));
      for (const [at, { isCompletion, keeps, usageOf, writer, tear }] of changes.entries()) {
        const log = logs[writer] ?? assert.fail();
        const made = receipt(at, [1, 2, ...(keeps ? [] : [at])], keeps ? 2 : 0);
        log.append(isCompletion ? { ...made, purpose: "compaction" } : made);
        const used = usageOf === undefined ? undefined : receipt(Math.max(0, at - usageOf), [], 0);
        if (used) log.setUsage(used.turnId, used.request, { input: at, output: 1, totalTokens: at + 1 });
        if (tear) tearLastLine(file);
        const all = openReceiptLog({ file }).read();
        const own = all.findLast(({ purpose }) => purpose === undefined);
        for (const each of [log, openReceiptLog({ file })]) {
          assert.deepEqual(each.lastOwn(), own);
          if (tear) continue;
          const hasOwn = new Set(
            all.filter(({ purpose }) => purpose === undefined).map(({ turnId }) => turnId),
          );
          const later = own ? all.slice(all.lastIndexOf(own) + 1).map(({ turnId }) => turnId) : [];
          const begun = new Set(later.filter((id) => !hasOwn.has(id)));
          assert.deepEqual(new Set(each.laterThanOwn()), begun);
        }
      }
    }),
    { numRuns: byLength(200, 30, 10) },
  );
});

/** The last line that is a receipt. */
function tearLastLine(file: string): void {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const at = lines.findLastIndex((line) => line.includes('"receipt"'));
  writeFileSync(file, `${lines.with(at, (lines[at] ?? "").slice(0, 20)).join("\n")}\n`);
}

test("a torn line loses the lines that depend on it and nothing after them", (t) => {
  const file = join(temporaryFolder(t), "r.jsonl");
  openReceiptLog({ file }).append(receipt(0, [1, 2, 3], 0));
  appendFileSync(file, '{"sequence":1,"keep":2,"rec');
  const log = openReceiptLog({ file });
  assert.equal(log.last()?.request, 0);
  log.append(receipt(1, [1, 2, 4], 2));
  log.append(receipt(2, [1, 2, 4, 5], 3));
  assert.deepEqual(
    openReceiptLog({ file })
      .read()
      .map((made) => made.parts.length),
    [3, 3, 4],
  );
  assert.equal(openReceiptLog({ file }).last()?.parts.length, 4);
  assert.equal(readFileSync(file, "utf8").trimEnd().split("\n").length, 4);
});

test("a session without receipts has none, and its file is next to the transcript", (t) => {
  const store = openStore(temporaryFolder(t));
  const record = store.renew("main", { cwd: "/" });
  const file = receiptFile(record);
  assert.equal(file, record.file.replace(/\.jsonl$/, ".receipts.jsonl"));
  const log = openReceiptLog({ file });
  assert.equal(log.last(), undefined);
  assert.deepEqual(log.read(), []);
  log.append(receipt(0, [1], 0));
  assert.deepEqual(
    store.list().map((session) => session.sessionId),
    [record.sessionId],
  );
  store.close();
});

test("a completion that ends after its turn has a number of its own", (t) => {
  const file = join(temporaryFolder(t), "s.receipts.jsonl");
  const log = openReceiptLog({ file });
  const [first, second] = [receipt(0, [1], 0), receipt(4, [2], 0)];
  assert.deepEqual([log.next("t0"), log.next("t1")], [0, 0]);
  log.append(first);
  log.append(second);
  const late = { ...first, request: openReceiptLog({ file }).next("t0"), purpose: "compaction" };
  log.append(late);
  assert.equal(late.request, 1);
  assert.deepEqual(
    log.read().map(({ turnId, request, purpose }) => [turnId, request, purpose]),
    [
      ["t0", 0, undefined],
      ["t1", 0, undefined],
      ["t0", 1, "compaction"],
    ],
  );
  assert.deepEqual([log.next("t0"), log.next("t1"), log.next("t2")], [2, 1, 0]);
});
