import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { MarkdownStream } from "../../packages/cli/src/chat/markdown.ts";
import { runs } from "../runner/short-form.ts";

function shown(text: string, columns = 80): string {
  const stream = new MarkdownStream(() => columns);
  return stream.push(text) + stream.end();
}

/** Escape codes as `<1>`. */
function readable(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/\u001b\[(\d+)m/g, "<$1>");
}

test("Markdown is shown with the styles of a terminal (finding D4)", () => {
  const looks: [string, string][] = [
    ["a **bold** word", "a <1>bold<22> word"],
    ["an *italic* and _another_", "an <3>italic<23> and <3>another<23>"],
    ["`code` and ``a`b``", "<36>code<39> and <36>a`b<39>"],
    ["**bold with `code`**", "<1>bold with <22><1><36>code<39><22>"],
    ["~~gone~~", "<9>gone<29>"],
    ["[docs](https://a.example/x)", "<4>docs<24><2> (https://a.example/x)<22>"],
    ["# Title\ntext", "<1><4>Title<24><22>\ntext"],
    ["## Part", "<1>Part<22>"],
    ["- one\n  * two\n3. three", "<36>•<39> one\n  <36>•<39> two\n<36>3.<39> three"],
    ["> quoted *words*", "<2>│ <22>quoted <3>words<23>"],
    ["```ts\nlet *a* = `b`;\n```\nafter", "<2>```ts<22>\n<36>let *a* = `b`;<39>\n<2>```<22>\nafter"],
    [String.raw`\*not\* this`, "*not* this"],
  ];
  for (const [text, look] of looks) assert.equal(readable(shown(text)), look, text);
});

test("text that only looks like Markdown is unchanged (finding D4)", () => {
  for (const text of [
    "5 * 3 and 2*3*4",
    "snake_case_name and __dirname",
    "an open ` and an open ** and [x] and [y",
    "a_b * c_d",
    "-x and #tag and 1.5",
    "tail *",
    "**",
  ])
    assert.equal(shown(text), text);
});

test("a table is shown in columns where it fits, else unchanged (finding D4)", () => {
  const table = "| a | long head |\n|---|:--|\n| **x** | 1 |\n";
  assert.deepEqual(stripVTControlCharacters(shown(`${table}after`)).split("\n"), [
    "a │ long head",
    "──┼──────────",
    "x │ 1",
    "after",
  ]);
  assert.equal(stripVTControlCharacters(shown(table, 10)), table.replaceAll("**", ""));
});

const pieces = fc.array(
  fc.constantFrom(
    "a",
    "word ",
    "*",
    "**",
    "_",
    "`",
    "```",
    "\n",
    "# ",
    "- ",
    "1. ",
    "> ",
    "|",
    "---",
    "[",
    "](",
    ")",
    "~~",
    "\\",
    "é",
    "\n\n",
    " ",
  ),
  { maxLength: 40 },
);

test("a text looks the same in any chunks, and no letter is lost (finding D4)", () => {
  fc.assert(
    fc.property(pieces, fc.array(fc.nat(7), { maxLength: 20 }), (parts, cuts) => {
      const text = parts.join("");
      const stream = new MarkdownStream(() => 80);
      let came = "";
      let at = 0;
      for (const cut of cuts) {
        came += stream.push(text.slice(at, at + cut));
        at += cut;
      }
      came += stream.push(text.slice(at)) + stream.end();
      assert.equal(stripVTControlCharacters(came), stripVTControlCharacters(shown(text)));
      const letters = (words: string): string => words.replaceAll(/[^a-zé]/g, "");
      assert.equal(letters(stripVTControlCharacters(came)), letters(text));
    }),
    {
      numRuns: runs(500),
      examples: [
        [["> ", "- ", "a"], [2]],
        [
          ["> ", "1. ", "a"],
          [3, 1],
        ],
        [
          ["> ", "# ", "a"],
          [2, 1, 1],
        ],
        [["# ", " ", "a"], [2]],
        [["|", "\n", "```", "a"], []],
        [["---", "- ", "\n"], [5]],
        [
          ["```", "a", "`", "a", "```"],
          [1, 1, 1, 3],
        ],
      ],
    },
  );
});
