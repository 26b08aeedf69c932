import assert from "node:assert/strict";
import { test } from "node:test";
import { recallPassages } from "../../../../src/engines/lossless/recall/pages.ts";
import { byLength } from "../../../runner/short-form.ts";
import { chain, withStore } from "./fixtures.ts";

const COUNT = byLength(500, 60, 20);

const THINGS = [
  "dentist appointment",
  "password of the cabin router",
  "shoe size of Mia",
  "flight to Lisbon",
  "deadline of the tax form",
  "birthday dinner",
  "piano lesson",
  "key of the boathouse",
  "parking place at the office",
  "appointment with the plumber",
  "code of the garage door",
  "train to Bergen",
  "name of the new cat",
  "size of the bicycle frame",
  "colour of the curtains",
  "meeting point for the hike",
  "return date of the library book",
  "seat in the theatre",
  "dose of the allergy medicine",
  "address of the summer camp",
  "start of the swimming course",
  "number of guests at the wedding",
  "place of the spare keys",
  "allergy test",
  "delivery of the sofa",
];
const VALUES = [
  "Tuesday at three",
  "Friday at noon",
  "number 38",
  "number 41",
  "the blue one",
  "row seven",
  "May 14",
  "June 2",
];
const OWNERS =
  "Alva Bruno Celia Dario Edith Fabio Greta Henrik Ines Jonas Klara Leon Mira Nils Olga Pavel Rosa Sven Tilda Viktor".split(
    " ",
  );
/** Ways to state a fact, and to correct it later. */
const FACTS = [
  (thing: string, value: string): string => `The ${thing} is ${value}.`,
  (thing: string, value: string): string =>
    `Please remember: the ${thing} is ${value}, that is important to me.`,
  (thing: string, value: string): string => `I noted that the ${thing} is ${value}.`,
];
const CORRECTIONS = [
  (thing: string, value: string): string => `Correction: the ${thing} is ${value} now.`,
  (thing: string, value: string): string =>
    `The ${thing} was changed to ${value}, forget what I wrote before about it.`,
  (thing: string, value: string): string => `By the way, the ${thing} is ${value} after all.`,
];
const TALK = [
  "Lovely weather again.",
  "Did you see the match?",
  "I am tired today.",
  "Let us cook something.",
  "Thanks a lot!",
];

function of<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}

interface Fact {
  question: string;
  older: string;
  newer: string;
}

/** Facts with their corrections, each about its own thing of its own person. */
function facts(): Fact[] {
  return Array.from({ length: COUNT }, (_, index) => {
    const thing = `${of(THINGS, index)} for ${of(OWNERS, Math.floor(index / THINGS.length))}`;
    const value = of(VALUES, index);
    return {
      question: `What is the ${thing}?`,
      older: of(FACTS, index)(thing, value),
      newer: of(CORRECTIONS, Math.floor(index / 2))(thing, of(VALUES, index + 3)),
    };
  });
}

test(`of ${COUNT} facts that were corrected, the newer statement comes first, and the older one names it`, async () => {
  await withStore(async (store) => {
    const all = facts();
    const talk = (index: number): string => `${of(TALK, index)} ${index}`;
    const texts = [
      ...all.map(({ older }) => older),
      ...all.map((_, index) => talk(index)),
      ...all.map(({ newer }) => newer),
    ];
    const entries = chain(texts);
    store.ingestTurn("s", entries);
    const wrong: string[] = [];
    for (const [index, { question, older, newer }] of all.entries()) {
      const { passages } = await recallPassages(store, {
        query: question,
        sessions: ["s"],
        budgetTokens: 2_000,
      });
      const at = (text: string): number => passages.findIndex((passage) => passage.text.includes(text));
      const id = entries[2 * COUNT + index]?.id ?? "";
      const isMarked = at(older) < 0 || passages[at(older)]?.text.includes(`(older than ${id})`) === true;
      if (at(newer) < 0 || (at(older) >= 0 && at(older) < at(newer)) || !isMarked)
        wrong.push(`${question} newer ${at(newer)}, older ${at(older)}, marked ${isMarked}`);
    }
    assert.deepEqual(wrong, []);
  });
});

test("statements about different things of one kind stay in their order, without a mark", async () => {
  await withStore(async (store) => {
    const texts = [
      "Alva plays the cello on Mondays.",
      "Bruno repairs bicycles near the harbour.",
      "Alva moved the harbour festival.",
    ];
    store.ingestTurn("s", chain(texts));
    const { passages } = await recallPassages(store, { query: "Alva", sessions: ["s"], budgetTokens: 2_000 });
    assert.ok(passages.every(({ text }) => !text.includes("older than")));
  });
});
