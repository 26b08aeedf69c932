/** Colours of code while it streams. */
import assert from "node:assert/strict";
import { stripVTControlCharacters } from "node:util";
import { test } from "node:test";
import fc from "fast-check";
import { highlighter, partsOf } from "../../../packages/cli/src/terminal/highlight.ts";
import { lazyHighlighter } from "../../../packages/cli/src/terminal/lazy-highlight.ts";
import { until } from "../../runner/until.ts";

const line = fc.constantFrom(
  "",
  "const berth = 1;",
  "  return 'é' + berth;",
  "/* a",
  "b */",
  "x".repeat(700),
);
const code = fc.array(line, { maxLength: 150 }).map((lines) => lines.join("\n"));

test("the parts of code are all of it, and more code changes the last one alone", () => {
  fc.assert(
    fc.property(code, fc.double({ min: 0, max: 1, noNaN: true }), (text, share) => {
      const parts = partsOf(text);
      assert.equal(parts.join("\n"), text);
      const before = partsOf(text.slice(0, Math.floor(text.length * share)));
      assert.deepEqual(before.slice(0, -1), parts.slice(0, before.length - 1));
    }),
  );
});

test("only the last lines of code that streams are coloured again, whatever its length", () => {
  const unit = "const berth = ships.find((ship) => ship.name === 'Merle');\n";
  for (const length of [20, 200, 2_000]) {
    const last = partsOf(unit.repeat(length)).at(-1) ?? "";
    assert.ok(last.length <= 2_000 + unit.length, `${last.length} characters`);
  }
});

test("coloured code has the words of the code, line by line", () => {
  const highlight = highlighter();
  fc.assert(
    fc.property(code, (text) => {
      assert.deepEqual(highlight(text, "ts").map(stripVTControlCharacters), text.split("\n"));
    }),
  );
  assert.match(highlight("const berth = 1;", "ts").join(""), /\u001b\[35mconst\u001b\[39m/);
  assert.deepEqual(highlight("const berth = 1;", "no-language"), ["const berth = 1;"]);
});

test("code of another language inside keeps its words and the colour around it", () => {
  const page = ["<p>a</p>", "<script>const berth = `${1}`;</script>"].join("\n");
  const lines = highlighter()(page, "html");
  assert.deepEqual(lines.map(stripVTControlCharacters), page.split("\n"));
  assert.match(lines.join("\n"), /\u001b\[35mconst/);
});

test("code is shown at once, and has colours when their library is loaded", async () => {
  let drawn = 0;
  const highlight = lazyHighlighter(() => (drawn += 1));
  assert.deepEqual(highlight("plain\nwords", undefined), ["plain", "words"]);
  assert.deepEqual(highlight("const a = 1;\nconst b = 2;", "ts"), ["const a = 1;", "const b = 2;"]);
  await until(() => drawn === 1);
  assert.match(highlight("const a = 1;", "ts").join(""), /\u001b\[35mconst/);
});
