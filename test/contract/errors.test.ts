import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { ERROR_CODES, PagurusError, toPagurusError } from "../../src/contract/errors.ts";

const text = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
const rows = [...text.matchAll(/^\| `([a-z_]+)` +\| (.+?) +\| (.+?) +\|$/gm)];

describe("docs/errors.md", () => {
  it("has each code of the catalogue once, and no other", () => {
    const documented = rows.map(([, code]) => code ?? "");
    assert.deepEqual(documented.toSorted(), Object.keys(ERROR_CODES).toSorted());
  });

  it("says in sentences what each means and what to do", () => {
    for (const [row, code, meaning = "", advice = ""] of rows) {
      assert.match(meaning, /^[A-Z].*\.$/, row);
      assert.match(advice, /[.]$/, row);
      assert.ok(advice.length >= 40, `${code}: ${advice}`);
    }
  });
});

describe("errors", () => {
  it("keep their code, and others become internal or what the caller says", () => {
    const error = new PagurusError("session_locked", "Taken.", { details: { pid: 7 } });
    assert.equal(toPagurusError(error, "internal"), error);
    const cause = new TypeError("no");
    assert.equal(toPagurusError(cause).code, "internal");
    assert.equal(toPagurusError(cause, "engine_failed").cause, cause);
    assert.equal(toPagurusError("text").message, "text");
  });
});
