import assert from "node:assert/strict";
import { test } from "node:test";
import { readFrontMatter } from "../../packages/core/src/data/front-matter.ts";
import { cpuMs } from "../runner/cpu-time.ts";

function fields(text: string): Record<string, string> {
  const read = readFrontMatter(`---\n${text}\n---\nbody`);
  assert.ok(read && "fields" in read, JSON.stringify(read));
  return Object.fromEntries(read.fields);
}

function problem(text: string): string {
  const read = readFrontMatter(text);
  assert.ok(read && "problem" in read, JSON.stringify(read));
  return read.problem;
}

test("scalars of every style are read", () => {
  const cases: [yaml: string, value: string][] = [
    ["a: plain words", "plain words"],
    ["a: Use it: always  # but not here", "Use it: always"],
    ["a: issue#7 and #8", "issue#7 and"],
    ["a: [issue] [file]", "[issue] [file]"],
    ["a: one\n  two\n\n  three", "one two\nthree"],
    ["a:\n  on its own line", "on its own line"],
    ['a: "quoted: \\"x\\" \\u00e9" # no', 'quoted: "x" é'],
    ['a: "over\n  two lines"', "over two lines"],
    ["a: 'it''s # fine'", "it's # fine"],
    ["a: >\n  folded\n  text\n\n  more", "folded text\nmore"],
    ["a: >-\n    folded", "folded"],
    ["a: |\n  one\n    two\n", "one\n  two"],
    ['"a": x', "x"],
  ];
  for (const [yaml, value] of cases) assert.equal(fields(yaml)["a"], value, yaml);
});

test("lists, maps, comments and empty values are skipped", () => {
  const text =
    "# who\nname: x\n\nmetadata:\n  author: me\n  tags: [a]\nallowed-tools:\n- Read\n- Bash\nlicense:\nlast: 1";
  assert.deepEqual(fields(text), { name: "x", last: "1" });
});

test("lists of scalars are read in every form, with comments and blank lines", () => {
  const cases: [yaml: string, items: string[]][] = [
    ["a:\n  - one\n  - two", ["one", "two"]],
    ["a:\n- one\n- two", ["one", "two"]],
    [
      "a: # files\n\n  # sources\n  - src/**  # all\n\n# tests\n  - 'it''s/**'\n  - \"t \\u00e9/**\"",
      ["src/**", "it's/**", "t é/**"],
    ],
    ["a:\n  - **/*.ts\n  - *.md\n  - {src,lib}/*.{ts,tsx}", ["**/*.ts", "*.md", "{src,lib}/*.{ts,tsx}"]],
    ["a: [\"one\", two three, 'four'] # five", ["one", "two three", "four"]],
    ["a: [src/*.{ts,tsx}, [ab]*.md, x#y,]", ["src/*.{ts,tsx}", "[ab]*.md", "x#y"]],
    ["a: [\n  one, # first\n  # between\n  'two',\n]\nb: x", ["one", "two"]],
    ["a:\n  [one,\n   two]", ["one", "two"]],
    ["a: \"one\", 'two'", ["one", "two"]],
    ["a: []", []],
  ];
  for (const [yaml, items] of cases) {
    const read = readFrontMatter(`---\n${yaml}\n---\nbody`);
    assert.ok(read && "lists" in read, `${yaml}: ${JSON.stringify(read)}`);
    assert.deepEqual(read.lists.get("a"), items, yaml);
  }
  for (const yaml of [
    "a: one",
    "a: [issue] [file]",
    "a: [one",
    "a:\n  - b: c",
    "a:\n  - - b",
    "a:\n  - *b",
    "a:\n  b: c",
    "a:",
  ]) {
    const read = readFrontMatter(`---\n${yaml}\n---\nbody`);
    assert.ok(read && "lists" in read, yaml);
    assert.equal(read.lists.get("a"), undefined, yaml);
  }
});

test("a comment line is no part of the value above it", () => {
  assert.deepEqual(fields("a: x\n# one\nb: |\n  y\n# two\nc:\n# three\nd: 'z'\n# four"), {
    a: "x",
    b: "y",
    d: "z",
  });
});

test("Windows line ends, a byte order mark and the text after it are accepted", () => {
  const read = readFrontMatter("\ufeff---\r\nname: x\r\n---\r\n\r\n# Title\r\n");
  assert.ok(read && "body" in read);
  assert.deepEqual([read.fields.get("name"), read.body], ["x", "\n# Title\n"]);
  assert.equal(readFrontMatter("# Title\n---\nname: x\n---\n"), undefined);
});

test("invalid front matter is reported with its line", () => {
  assert.match(problem("---\nname: x\n"), /no closing/);
  assert.match(problem("---\nname: x\nwhat is this\n---\n"), /line 3 /);
  assert.match(problem("---\nname: x\nname: y\n---\n"), /"name" twice/);
  assert.match(problem('---\nname: "x\n---\n'), /"name" \(line 2\) has a quote that is not closed/);
  assert.match(problem("---\nname: *x\n---\n"), /begins with "\*"/);
});

test("long runs of spaces take linear time", async () => {
  const spaces = " ".repeat(1_000_000);
  const texts = [
    `a: [x${spaces}y`,
    `a: [${spaces}#`,
    `a: [x, "${spaces}`,
    `a: x${spaces}y`,
    `a: |\n  x${spaces}y`,
    `a${spaces}`,
  ];
  const ms = await cpuMs(() => texts.forEach((text) => readFrontMatter(`---\n${text}\n---\n`)));
  // Quadratic time would be minutes.
  assert.ok(ms < 20_000, `${ms} ms of CPU`);
});
