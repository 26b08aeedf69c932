import assert from "node:assert/strict";
import { test } from "node:test";
import { chain, withStore } from "./fixtures.ts";
import { isSlip, isSpelling } from "../../../../packages/lossless/src/store/search/spellings.ts";

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

test("some names of different people look like slips too", () => {
  for (const [one, other] of [
    ["maria", "marina"],
    ["joanna", "johanna"],
    ["kristen", "kristel"],
  ] as const)
    assert.equal(isSlip(one, other), true, `${one}, ${other}`);
});

test("names that differ in the last letter, or are short, are no slips of each other", () => {
  for (const [one, other] of [
    ["andrea", "andrew"],
    ["julia", "julian"],
    ["joan", "john"],
    ["emma", "emmas"],
    ["joanna", "joan"],
    ["petr", "peter"],
  ] as const) {
    assert.equal(isSlip(one, other), false, `${one}, ${other}`);
    assert.equal(isSlip(other, one), false, `${other}, ${one}`);
  }
});

test("a slip counts as the name that many texts have, where slips are read", async () => {
  await withStore(async (store) => {
    const about = (name: string, count: number): string[] =>
      Array.from({ length: count }, (_, index) => `${name} painted boat number ${index} in the harbour.`);
    store.ingestTurn(
      "s",
      chain([...about("Henrik", 12), ...about("Joachim", 4), ...about("The others", 40)]),
    );
    await store.indexed();
    const isNamed = async (name: string, readsSlips?: boolean): Promise<boolean> => {
      const query = `Which colours did ${name} choose for his boats?`;
      const least = { share: 0.3, weight: 4, ...(readsSlips === undefined ? {} : { readsSlips }) };
      return (await store.passages({ query, sessions: ["s"], least })).match.isNamed;
    };
    assert.equal(await isNamed("Henrik"), true);
    assert.equal(await isNamed("Henrk", true), true);
    assert.equal(await isNamed("Henrk"), false);
    assert.equal(await isNamed("Joachm", true), false, "a name of few texts");
  });
});
