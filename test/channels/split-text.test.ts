import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { splitText } from "../../packages/channels/src/turn-answer.ts";

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

  it("has fenced code closed at the end of a part, and begun again in the next one with its indentation", () => {
    const code =
      "Look:\n\n```ts\nfunction one() {\n  return 1;\n}\nfunction two() {\n  return 2;\n}\n```\n\nThat is all.";
    assert.deepEqual(splitText(code, 72), [
      "Look:\n\n```ts\nfunction one() {\n  return 1;\n}\nfunction two() {\n```",
      "```ts\n  return 2;\n}\n```\n\nThat is all.",
    ]);
  });

  it("does not end with the first line of fenced code", () => {
    const text = `${"Some words. ".repeat(4)}\n\n\`\`\`sh\n${"make all\n".repeat(6)}\`\`\``;
    for (const part of splitText(text, 64)) assert.doesNotMatch(part, /```sh(\n```)?$/);
  });

  it("keeps all of its code, and each part closes the code that it opens", () => {
    const line = fc.constantFrom(
      "a b",
      "  indented();",
      "x```",
      "",
      "```",
      "~~~",
      "```ts",
      "some more words of code here",
    );
    const text = fc.array(line, { maxLength: 60 }).map((lines) => lines.join("\n"));
    const marks = /^ {0,3}(```|~~~)(ts)?$/;
    const unfenced = (lines: readonly string[]): string =>
      withoutSpace(lines.filter((each) => !marks.test(each)).join(""));
    fc.assert(
      fc.property(text, fc.integer({ min: 64, max: 200 }), (whole, max) => {
        const parts = splitText(whole, max);
        assert.equal(unfenced(parts.flatMap((part) => part.split("\n"))), unfenced(whole.split("\n")));
        for (const part of parts) assert.ok(part.length > 0 && part.length <= max, JSON.stringify(part));
        for (const part of parts.slice(0, -1)) {
          let open = "";
          for (const each of part.split("\n")) {
            const [, mark = "", language] = marks.exec(each) ?? [];
            if (open === "") open = mark;
            else if (mark === open && language === undefined) open = "";
          }
          assert.equal(open, "", JSON.stringify(part));
        }
      }),
    );
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
