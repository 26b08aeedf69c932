import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { queryWords } from "../../../../packages/lossless/src/store/search/query.ts";
import { WordForms } from "../../../../packages/lossless/src/store/search/word-forms.ts";

function formsOf(sentence: string): WordForms {
  return new WordForms(sentence.toLowerCase().split(" "));
}

describe("word forms", () => {
  it("bring the forms of an English word to one stem", () => {
    const forms = formsOf("what did she paint");
    for (const word of ["paint", "paints", "painted", "painting", "painter", "painters"])
      assert.equal(forms.stem(word), "paint", word);
    for (const word of ["study", "studies", "studied", "studying"])
      assert.equal(forms.stem(word), "stud", word);
    for (const word of ["adds", "added", "adding"]) assert.equal(forms.stem(word), "add", word);
    for (const word of ["planned", "planning", "plans"]) assert.equal(forms.stem(word), "plan", word);
  });

  it("leave numbers, names with signs and short words as they are", () => {
    const forms = formsOf("the");
    for (const word of ["b12", "src/pages", "rs", "ués"]) assert.equal(forms.stem(word), undefined, word);
    assert.equal(forms.stem("class"), "class");
  });

  it("take the language from the stop words of the query", () => {
    assert.equal(formsOf("wann hat er die lampen bestellt").stem("lampen"), "lamp");
    assert.equal(formsOf("wann hat er die lampen bestellt").isStopWord("wann"), true);
    assert.equal(formsOf("when did the lamps die").isStopWord("die"), false);
    assert.equal(formsOf("quand est ce que les lampes arrivent").stem("lampes"), "lamp");
  });

  it("of a word in y or e are not those of the other, and a consonant is doubled only after a short vowel", () => {
    const forms = formsOf("the");
    assert.deepEqual(forms.formsOf("tidy", "tid").toSorted(), ["tidied", "tidies", "tidy", "tidying"]);
    const tide = forms.formsOf("tide", "tid");
    assert.ok(["tide", "tides", "tiding"].every((form) => tide.includes(form)));
    assert.ok(!tide.some((form) => form.startsWith("tidd") || form === "tidy"), tide.join(" "));
    assert.ok(["plan", "plans", "planned"].every((form) => forms.formsOf("planning", "plan").includes(form)));
  });

  it("list only words with the stem", () => {
    const letters = fc.string({
      unit: fc.constantFrom(..."abeilnoprst".split("")),
      minLength: 4,
      maxLength: 12,
    });
    fc.assert(
      fc.property(letters, (word) => {
        const forms = formsOf("the");
        const stem = forms.stem(word) ?? "";
        const all = forms.formsOf(word, stem);
        assert.ok(all.every((form) => forms.stem(form) === stem));
        // A stem that is itself cut further has no list; the word itself is always searched.
        assert.ok(all.length === 0 || stem.length >= 3);
      }),
    );
  });
});

/** The words of a query without the names that may be made of them. */
function typed(query: string): string[] {
  return queryWords(query).flatMap(({ text, made }) => (made ? [] : [text]));
}

describe("the words of a query", () => {
  it("are those with a meaning", () => {
    const texts = typed("When did Caroline go to the support group?");
    assert.deepEqual(texts, ["caroline", "go", "support", "group"]);
  });

  it("are all of them when none has one", () => {
    assert.deepEqual(typed("what is this"), ["what", "is", "this"]);
  });

  it("are searched in their forms where they are few", () => {
    const formed = (query: string): boolean => queryWords(query).some(({ forms }) => forms !== undefined);
    const words = "boats lakes rivers ferries lamps ropes sails oars".split(" ");
    assert.equal(formed(words.join(" ")), true);
    assert.equal(formed([...words, "anchors"].join(" ")), false);
  });

  it("include names made of what was typed, stop words too", () => {
    assert.ok(queryWords("is ready").some(({ text, made }) => made && text === "isready"));
    assert.ok(!queryWords("ready for the tide").some(({ text }) => text.includes("the")));
  });
});
