import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  ERROR_CODES,
  isPagurusError,
  PagurusError,
  toPagurusError,
} from "../../packages/contract/src/errors.ts";

const text = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
const rows = [...text.matchAll(/^\| `([a-z_]+)` +\| (.+?) +\| (.+?) +\|$/gm)];

describe("docs/errors.md", () => {
  it("has each code of the catalogue once, and no other", () => {
    const documented = rows.map(([, code]) => code ?? "");
    assert.deepEqual(documented.toSorted(), Object.keys(ERROR_CODES).toSorted());
  });

  it("gives each code a meaning and a remedy, as sentences", () => {
    for (const [row, code, meaning = "", advice = ""] of rows) {
      assert.match(meaning, /^[A-Z].*\.$/, row);
      assert.match(advice, /[.]$/, row);
      assert.ok(advice.length >= 40, `${code}: ${advice}`);
    }
  });
});

describe("errors", () => {
  it("keep their code, and others become internal or the caller's fallback code", () => {
    const error = new PagurusError("session_locked", "Taken.", { details: { pid: 7 } });
    assert.equal(toPagurusError(error, "internal"), error);
    const cause = new TypeError("no");
    assert.equal(toPagurusError(cause).code, "internal");
    assert.equal(toPagurusError(cause, "engine_failed").cause, cause);
    assert.equal(toPagurusError("text").message, "text");
  });

  it("of a second copy of the package keep their code, and subclasses stay apart (finding B9)", async () => {
    const copy = (await import(
      `${new URL("../../packages/contract/src/errors.ts", import.meta.url).href}?copy`
    )) as {
      isPagurusError: typeof isPagurusError;
      PagurusError: typeof PagurusError;
    };
    assert.notEqual(copy.PagurusError, PagurusError);
    const foreign = new copy.PagurusError("prompt_blocked", "No.", { details: { rule: 3 } });
    assert.ok(foreign instanceof PagurusError);
    assert.equal(toPagurusError(foreign), foreign);
    assert.equal(toPagurusError(foreign).code, "prompt_blocked");
    assert.ok(isPagurusError(foreign));
    assert.ok(copy.isPagurusError(new PagurusError("internal", "x")));
    for (const other of [new Error("x"), { code: "internal" }, null, undefined, "internal"])
      assert.ok(!isPagurusError(other));
    class Own extends PagurusError {}
    assert.ok(!(foreign instanceof Own));
    assert.ok(new Own("internal", "x") instanceof Own);
    assert.ok(!((new Error("x") as unknown) instanceof PagurusError));
    assert.deepEqual(Object.keys(foreign).toSorted(), ["code", "details", "name"]);
  });
});
