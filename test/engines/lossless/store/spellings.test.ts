import assert from "node:assert/strict";
import { test } from "node:test";
import { isSlip, isSpelling } from "../../../../src/engines/lossless/store/search/spellings.ts";

test("spellings of one name sound alike and differ in few letters", () => {
  for (const [one, other] of [
    ["muhammad", "muhhamed"],
    ["mohammed", "muhammad"],
    ["nikolas", "nicolas"],
    ["aqib", "akib"],
    ["stephen", "stefen"],
    ["isabelle", "izabele"],
    ["caroline", "carolyne"],
  ] as const) {
    assert.equal(isSpelling(one, other), true, `${one}, ${other}`);
    assert.equal(isSpelling(other, one), true, `${other}, ${one}`);
  }
});

test("other names and words are no spellings of a name", () => {
  for (const [one, other] of [
    ["andrew", "andrea"],
    ["john", "join"],
    ["gina", "gain"],
    ["melanie", "melon"],
    ["joanna", "john"],
    ["marta", "maria"],
    ["akib", "akim"],
    ["martin", "morning"],
    ["david", "dave"],
  ] as const)
    assert.equal(isSpelling(one, other), false, `${one}, ${other}`);
});

test("one letter too many or too few inside a name, or one wrong letter of a long name, is a slip", () => {
  for (const [one, other] of [
    ["andew", "andrew"],
    ["henriik", "henrik"],
    ["deboran", "deborah"],
  ] as const)
    assert.equal(isSlip(one, other), true, `${one}, ${other}`);
});

test("other names that differ by one letter are no slips", () => {
  for (const [one, other] of [
    ["andrea", "andrew"],
    ["julia", "julian"],
    ["joan", "john"],
    ["emma", "emmas"],
    ["joanna", "joan"],
  ] as const) {
    assert.equal(isSlip(one, other), false, `${one}, ${other}`);
    assert.equal(isSlip(other, one), false, `${other}, ${one}`);
  }
});
