/** Colours of code: pieces whose text is the code, whatever it holds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { highlightedCode } from "../../packages/core/src/highlight/highlighted-code.ts";

const CODES: readonly (readonly [language: string, code: string])[] = [
  ["ts", "const one: number = 1; // a note\nexport { one };\n"],
  ["html", `<img src=x onerror="alert('1')"> &amp; <script>alert(1)</script>`],
  ["bash", "echo \"$HOME\" && cat <<'E'\n</span>\nE"],
  ["json", `{"a": "<b>&quot;</b>", "b": [1, null]}`],
  ["python", "def f(x):\n    return f'<span class=\"hljs-x\">{x}</span>'"],
];

describe("the colours of code", () => {
  it("are pieces that joined are the code, also where that is markup", () => {
    for (const [language, code] of CODES) {
      const pieces = highlightedCode(code, language);
      assert.equal(pieces?.map(({ text }) => text).join(""), code, language);
      assert.ok(
        pieces?.some(({ kind }) => kind !== undefined),
        language,
      );
    }
  });

  it("name a keyword, a string and a note", () => {
    const kinds = new Map(
      highlightedCode("const a = 'b'; // c", "js")?.map(({ text, kind }) => [text, kind]),
    );
    assert.deepEqual(
      ["const", "'b'", "// c"].map((text) => kinds.get(text)),
      ["keyword", "string", "comment"],
    );
  });

  it("are none for a language that is not among them", () => {
    assert.equal(highlightedCode("one", "klingon"), undefined);
  });
});
