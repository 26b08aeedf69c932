import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { baselines } from "../../../bench/context/recall/baselines.ts";
import { Bm25 } from "../../../bench/context/recall/bm25.ts";
import { plantFacts } from "../../../bench/context/recall/facts.ts";
import { laterQuestions } from "../../../bench/context/recall/later-turns.ts";
import { reachableAt, recallAt, score, shareOf, within } from "../../../bench/context/recall/measure.ts";
import { chunksOf, type Passage, type Recaller } from "../../../bench/context/recall/recaller.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";
import { generateTranscript } from "../../../bench/generate.ts";
import { isValidSequence } from "../../../packages/core/src/compaction/tool-pairing.ts";
import { estimateTokens } from "../../../packages/core/src/tokens/estimate.ts";
import { round, says, sessionOf, user } from "./sessions.ts";

const HISTORY = generateTranscript({ seed: 5, messages: 301 }).slice(0, 300);

test("BM25 ranks rare words over common ones, and shorter documents over longer", () => {
  const bm25 = new Bm25();
  const texts = [
    "the cat and the dog",
    "the harbour",
    "the harbour and the ships and the cargo and many more things that are long",
    "nothing",
  ];
  for (const text of texts) bm25.add(text);
  assert.deepEqual(bm25.rank("the harbour"), [1, 2, 0]);
  assert.deepEqual(bm25.rank("unknown"), []);
});

test("the score of BM25 is that of its formula", () => {
  const bm25 = new Bm25();
  // Equal lengths: the weight of a word is idf * f * 2.2 / (f + 1.2), so two of one beat one of two words.
  for (const text of ["rare rare x", "common other x", "common common x", "y y y"]) bm25.add(text);
  assert.deepEqual(bm25.rank("rare common"), [0, 2, 1]);
});

test("chunks joined are the text, and none is much over 1,200 characters", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 9_000 }), fc.integer({ min: 1, max: 400 }), (text, every) => {
      const lines = text.replaceAll(new RegExp(`(.{${every}})`, "gs"), "$1\n");
      const chunks = chunksOf(lines);
      assert.equal(chunks.join(""), lines);
      assert.ok(chunks.every(({ length }) => length <= 1_201));
    }),
  );
});

test("planted facts are in a valid history, each verbatim, and the same for the same seed", () => {
  for (const vocabulary of [0, 1] as const) {
    const options = { seed: 3, count: 24, vocabulary };
    const { messages, questions } = plantFacts(HISTORY, options);
    assert.deepEqual(plantFacts(HISTORY, options), { messages, questions });
    assert.equal(questions.length, 24);
    assert.equal(new Set(questions.map(({ category }) => category)).size, 8);
    assert.equal(isValidSequence(messages), undefined);
    const texts = messages.map(textOfMessage);
    for (const { text, gold } of questions) {
      for (const value of gold) {
        assert.equal(texts.filter((said) => said.includes(value)).length > 0, true, value);
        assert.equal(text.includes(value), false);
      }
    }
    assert.ok(messages.every(({ entryId }, index) => (messages[index - 1]?.entryId ?? "") < (entryId ?? "")));
  }
});

test("a correction comes after what it corrects", () => {
  const { messages, questions } = plantFacts(HISTORY, { seed: 9, count: 40, vocabulary: 0 });
  const texts = messages.map(textOfMessage);
  const corrected = questions.filter(({ category }) => category === "fact: corrected");
  assert.ok(corrected.length > 0);
  for (const { gold } of corrected) {
    const at = texts.findIndex((text) => text.includes(gold[0] ?? "?"));
    const thing = /about the ([a-z ]+): its ([a-z ]+) is/.exec(texts[at] ?? "");
    const first = texts.findIndex((text) => text.includes(`The ${thing?.[2]} of the ${thing?.[1]} is `));
    assert.ok(first >= 0 && first < at);
  }
});

test("later questions ask for what is only in the older history, and do not name it", () => {
  const filler = Array.from({ length: 45 }, (_, index) => says(`step number ${index}`));
  const session = sessionOf([
    user("please read the configuration"),
    ...round("a", { path: "conf/app.toml" }, "port_number"),
    ...filler,
    says("now I will edit the file conf/app.toml and then port_number"),
    says("and again I will look at conf/app.toml once more"),
  ]);
  const questions = laterQuestions(session, 4);
  assert.deepEqual(
    questions.map(({ gold }) => gold),
    [["conf/app.toml", "port_number"]],
  );
  assert.match(questions[0]?.text ?? "", /now I will edit the file/);
  assert.doesNotMatch(questions[0]?.text ?? "", /app\.toml|port_number/);
});

test("only whole passages within the budget are read", () => {
  const passages = ["one two three", "four five six", "seven"].map((text) => ({ entryId: "e", text }));
  const first = estimateTokens("one two three");
  assert.deepEqual(within(passages, first), { text: "one two three", tokens: first });
  assert.equal(within(passages, first - 1).tokens, 0);
  assert.equal(shareOf(["two", "six"], "one two three"), 0.5);
});

/** Answers each page with the next of its passages. */
function pages(texts: readonly string[]): Recaller {
  return {
    name: "pages",
    index: () => undefined,
    recall: (_question, _budget, page = 0): Passage[] =>
      texts.slice(page, page + 1).map((text) => ({ entryId: "e", text })),
  };
}

test("evidence is counted within one answer, and over several calls of the tool", async () => {
  const asked = {
    name: "case",
    messages: [],
    factor: 1,
    questions: [
      { category: "x", text: "?", gold: ["alpha", "beta"] },
      { category: "x", text: "?", gold: ["gamma"] },
    ],
  };
  const recaller = pages(["alpha", "beta", "gamma"]);
  const one = await recallAt(recaller, asked, 1_000);
  assert.deepEqual(
    one.shares.map(({ found }) => found),
    [0.5, 0],
  );
  const three = await reachableAt(recaller, asked, 3);
  assert.deepEqual(
    three.shares.map(({ found }) => found),
    [1, 1],
  );
  // The first question is answered after two calls, the second after three.
  assert.equal(
    three.tokens,
    ["alpha", "beta", "alpha", "beta", "gamma"].map(estimateTokens).reduce((a, b) => a + b),
  );
});

test("the interval of a mean contains it and narrows with more questions", () => {
  const few = score([0, 1, 0, 1], 0);
  const many = score(
    Array.from({ length: 400 }, (_, index) => index % 2),
    0,
  );
  assert.equal(few.recall, 0.5);
  assert.equal(many.allHit, 0.5);
  assert.ok(few.low <= 0.5 && few.high >= 0.5);
  assert.ok(many.high - many.low < few.high - few.low);
});

test("the baselines stay within the budget, page on without repetition, and search beats recency", async () => {
  const { messages, questions } = plantFacts(HISTORY, { seed: 4, count: 32, vocabulary: 0 });
  const asked = { name: "case", messages, questions, factor: 1 };
  const found = new Map<string, number>();
  for (const recaller of baselines()) {
    await recaller.index(messages);
    const question = questions[0]?.text ?? "";
    const first = await recaller.recall(question, 2_000);
    const second = await recaller.recall(question, 2_000, 1);
    const tokens = first.reduce((sum, { text }) => sum + estimateTokens(text), 0);
    assert.ok(tokens <= 2_000 && tokens > 0, recaller.name);
    const texts = new Set(first.map(({ text }) => text));
    assert.equal(
      second.some(({ text }) => texts.has(text) && text.length > 300),
      false,
      recaller.name,
    );
    const { shares } = await recallAt(recaller, asked, 8_000);
    found.set(
      recaller.name,
      score(
        shares.map((share) => share.found),
        0,
      ).recall,
    );
  }
  assert.ok((found.get("BM25") ?? 0) > (found.get("recency") ?? 1));
});
