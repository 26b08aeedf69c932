import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { codeLines } from "../../packages/core/src/data/code-lines.ts";

/** The lines of a text that are code. */
function code(...lines: string[]): string[] {
  return lines.filter(codeLines());
}

describe("lines of fenced code", () => {
  it("are those between two fences, and the fences", () => {
    assert.deepEqual(code("a", "```ts", "b", "```", "c", "  ~~~", "d", "~~~~", "e"), [
      "```ts",
      "b",
      "```",
      "  ~~~",
      "d",
      "~~~~",
    ]);
  });

  it("include fences of the other character and shorter ones", () => {
    assert.deepEqual(code("````", "```", "~~~", "a", "````", "b"), ["````", "```", "~~~", "a", "````"]);
  });

  it("reach the end of a text that does not close them", () => {
    assert.deepEqual(code("a", "~~~", "b"), ["~~~", "b"]);
    assert.deepEqual(code("a ``` b", "``", "c"), []);
  });
});
