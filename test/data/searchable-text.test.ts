import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SearchableText } from "../../packages/core/src/data/searchable-text.ts";

/** Few letters, so that many parts occur; and signs of two code units, which a part may cut. */
const letters = fc.constantFrom("a", "b", "c", " ", "é", "🦀");

describe("a text to search in", () => {
  it("finds what a plain search finds, and nothing else", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: letters, maxLength: 400 }),
        fc.string({ unit: letters, maxLength: 14 }),
        fc.nat(),
        fc.nat({ max: 40 }),
        (text, other, start, length) => {
          const searched = new SearchableText(text);
          const from = text === "" ? 0 : start % text.length;
          for (const part of [text.slice(from, from + length), other, `${text}${other}`, ""])
            assert.equal(searched.includes(part), text.includes(part), part);
        },
      ),
    );
  });

  it("finds each part of a long text, also at its ends", () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `w${(index * 7_919) % 20_011}`).join(" ");
    const searched = new SearchableText(text);
    for (let from = 0; from < text.length; from += 997)
      assert.ok(searched.includes(text.slice(from, from + 60)));
    assert.ok(searched.includes(text.slice(-30)) && searched.includes(text));
    assert.ok(!searched.includes("w20012 w1"));
  });
});
