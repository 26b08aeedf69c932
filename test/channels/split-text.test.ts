import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { splitText } from "../../src/channels/turn-answer.ts";

function withoutSpace(text: string): string {
  return text.replaceAll(/\s/g, "");
}

describe("a long answer", () => {
  it("is split between paragraphs, else lines, sentences and words", () => {
    assert.deepEqual(splitText("One line.\nTwo lines.\n\nNext.", 24), ["One line.\nTwo lines.", "Next."]);
    assert.deepEqual(splitText("first line\nsecond line", 15), ["first line", "second line"]);
    assert.deepEqual(splitText("It is here. It is there.", 14), ["It is here.", "It is there."]);
    assert.deepEqual(splitText("one two three", 9), ["one two", "three"]);
    assert.deepEqual(splitText("  \n ", 9), []);
  });

  it("loses no character, and no part is longer than allowed or ends in half a character", () => {
    const words = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("a b. c\n\n", "\u{1F980}\u{1F41A}", "word ", "\n"),
    );
    const text = fc.array(words, { maxLength: 40 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (whole, max) => {
        const parts = splitText(whole, max);
        assert.equal(withoutSpace(parts.join("")), withoutSpace(whole));
        for (const part of parts) {
          assert.ok(part.length > 0 && part.length <= max, JSON.stringify(part));
          if (whole.isWellFormed()) assert.ok(part.isWellFormed(), JSON.stringify(part));
        }
      }),
    );
  });
});
