import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { count, dollars, plural } from "../../packages/core/src/data/plain-numbers.ts";
import { bytes, oneLine, table, terminalSafe } from "../../packages/host/src/command/layout.ts";
import { diffReceipts, receiptDiffText, receiptPair } from "../../packages/host/src/command/receipt-diff.ts";
import { groupParts, receiptsText, receiptText } from "../../packages/host/src/command/receipt-table.ts";
import { FakePagurus, FakeStore, part, receipt } from "../cli/fake-pagurus.ts";
import { Entries } from "./entries.ts";
import { unicodeText } from "../runner/unicode-text.ts";

test("a receipt is a table of sources in order, with ids, prefix, trims, usage and cost", () => {
  const text = receiptText(
    receipt({
      parts: [
        part({ hash: "1", source: "system", role: "system", tokens: 1200 }),
        part({ hash: "2", source: "instructions", role: "system", path: "/w/AGENTS.md" }),
        part({ hash: "3", entryId: "e1" }),
        part({ hash: "4", entryId: "e2", role: "assistant" }),
        part({ hash: "5", entryId: "e3", role: "toolResult", trimmed: { fromBytes: 4096, toBytes: 1024 } }),
        part({ hash: "6", source: "live", entryId: "e4" }),
      ],
      sharedParts: 4,
      sharedTokens: 1230,
      tokens: 1250,
      epoch: "3",
      degraded: "assemble threw",
      usage: { input: 50, output: 7, cacheRead: 1200, totalTokens: 1257, cost: 0.00123 },
    }),
  );
  assert.deepEqual(text.split("\n"), [
    "Request 0 of turn t1, 2026-01-02 03:04:05",
    "  model offline/extract, runtime embedded, seam embedded, engine legacy, epoch 3",
    "  SOURCE                     PARTS  TOKENS  PREFIX    ENTRIES",
    "  system                         1   1,200  shared",
    "  instructions /w/AGENTS.md      1      10  shared",
    "  history                        3      30  2 shared  e1 … e3",
    "  live                           1      10  new       e4",
    "  system and tools 1,210; conversation 40 of 1,000 tokens, estimated",
    "  shared prefix: 4 parts, 1,230 tokens",
    "  trimmed: e3, 4.0 KB → 1.0 KB",
    "  degraded: assemble threw",
    "  usage: 50 input, 7 output, 1,200 from cache; $0.00123",
  ]);
  assert.match(receiptsText([]), /No request/);
});

test("grouping keeps every part in order", () => {
  const sources = fc.constantFrom("system", "head", "history", "fragment", "live" as const);
  fc.assert(
    fc.property(fc.array(sources), (list) => {
      const parts = list.map((source, index) => part({ hash: String(index), source }));
      const groups = groupParts(parts);
      assert.deepEqual(
        groups.flatMap((group) => group.parts),
        parts,
      );
      for (const [index, group] of groups.entries()) assert.notEqual(group.source, groups[index - 1]?.source);
    }),
  );
});

test("a diff shows the prefix and the added, removed and changed parts", () => {
  const from = receipt({
    tokens: 100,
    parts: [
      part({ hash: "s", source: "system", role: "system" }),
      part({ hash: "a", entryId: "e1" }),
      part({ hash: "b", entryId: "e2" }),
      part({ hash: "c", entryId: "e3" }),
    ],
  });
  const to = receipt({
    turnId: "t2",
    tokens: 90,
    parts: [
      part({ hash: "s", source: "system", role: "system" }),
      part({ hash: "h", source: "head" }),
      part({ hash: "b2", entryId: "e2", tokens: 4 }),
      part({ hash: "c", entryId: "e3" }),
      part({ hash: "d", source: "live", entryId: "e4" }),
    ],
  });
  const diff = diffReceipts({ from, to });
  assert.deepEqual([diff.prefixParts, diff.prefixTokens, diff.unchangedParts], [1, 10, 1]);
  assert.deepEqual(
    diff.changes.map(({ change, part: one }) => `${change} ${one.entryId ?? one.source}`),
    ["removed e1", "added head", "changed e2", "added e4"],
  );
  assert.deepEqual(receiptDiffText(diffReceipts({ from, to })).split("\n"), [
    "From turn t1 request 0 to turn t2 request 0",
    "  = same prefix: 1 part, 10 tokens",
    "  - history user e1, 10 tokens",
    "  + head user, 10 tokens",
    "  ~ history user e2, 10 → 4 tokens",
    "  + live user e4, 10 tokens",
    "  = unchanged after the prefix: 1 part",
    "  total: 100 → 90 tokens (-10)",
  ]);
});

test("a request compared with itself has no changes, for any content", () => {
  const parts = fc.array(
    fc.record({ hash: fc.string(), entryId: fc.constantFrom("e1", "e2", "e3") }).map((value) => part(value)),
  );
  fc.assert(
    fc.property(parts, (list) => {
      const one = receipt({ parts: list });
      assert.deepEqual(diffReceipts({ from: one, to: one }).changes, []);
      assert.equal(diffReceipts({ from: one, to: one }).prefixParts, list.length);
    }),
  );
});

test("every part after the prefix is accounted for once in a diff", () => {
  const list = fc.array(
    fc
      .record({ hash: fc.constantFrom("x", "y"), entryId: fc.constantFrom("e1", "e2") })
      .map((value) => part(value)),
  );
  fc.assert(
    fc.property(list, list, (a, b) => {
      const diff = diffReceipts({ from: receipt({ parts: a }), to: receipt({ parts: b }) });
      const number = (change: string): number => diff.changes.filter((one) => one.change === change).length;
      const kept = diff.prefixParts + diff.unchangedParts + number("changed");
      assert.equal(kept + number("added"), b.length);
      assert.equal(kept + number("removed"), a.length);
    }),
  );
});

test("the last two requests may be of one turn or two, and can be named", async () => {
  const at = (turnId: string, request: number) => receipt({ turnId, request, parts: [] });
  const receipts = [at("t1", 0), at("t1", 1), at("t3", 0)];
  const entries = new Entries()
    .say("user", "x", "t1")
    .commit("t1")
    .say("user", "y", "t2")
    .commit("t2", "failed");
  const store = new FakeStore(entries.say("user", "z", "t3").commit("t3").all);
  const pagurus = new FakePagurus({ receipts, store });
  const where = { sessionKey: "main", agentId: "main" };
  const name = async (names?: { from?: string; to?: string }): Promise<string> => {
    const pair = await receiptPair(pagurus, where, names);
    return `${pair.from.turnId}:${pair.from.request} ${pair.to.turnId}:${pair.to.request}`;
  };
  assert.equal(await name(), "t1:1 t3:0");
  assert.equal(await name({ to: "t1" }), "t1:0 t1:1");
  assert.equal(await name({ from: "t1:0" }), "t1:0 t3:0");
  await assert.rejects(name({ from: "t9" }), { code: "entry_not_found" });
  await assert.rejects(receiptPair(new FakePagurus(), where), { code: "entry_not_found" });
});

test("numbers and lines have one format everywhere", () => {
  assert.deepEqual([count(0), count(999), count(1000), count(1234567)], ["0", "999", "1,000", "1,234,567"]);
  assert.deepEqual([bytes(1023), bytes(1024), bytes(5 * 1024 ** 2)], ["1023 B", "1.0 KB", "5.0 MB"]);
  assert.deepEqual([dollars(0), dollars(1.5), dollars(0.00012)], ["$0.00", "$1.50", "$0.00012"]);
  assert.deepEqual([plural(1, "entry", "entries"), plural(2, "entry", "entries")], ["1 entry", "2 entries"]);
  assert.deepEqual(
    table(
      ["A", "B"],
      [
        ["漢", "1"],
        ["long", "22"],
      ],
      [1],
    ),
    ["A      B", "漢     1", "long  22"],
  );
});

test("oneLine returns a single line within its limit, without terminal control codes", () => {
  fc.assert(
    fc.property(unicodeText(), fc.integer({ min: 1, max: 40 }), (text, limit) => {
      const line = oneLine(text, limit);
      assert.ok(Array.from(line).length <= limit);
      // eslint-disable-next-line no-control-regex
      assert.doesNotMatch(line, /[\u0000-\u001f\u007f-\u009f]/);
      // eslint-disable-next-line no-control-regex
      assert.doesNotMatch(terminalSafe(text), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
  assert.equal(terminalSafe("a\tb\nc\u001b]0;title\u0007"), "a\tb\nc]0;title");
});
