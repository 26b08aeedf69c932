import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import { parseSource } from "../../../packages/host/src/plugin/install/install-source.ts";
import { runs } from "../../runner/short-form.ts";
import { unicodeText } from "../../runner/unicode-text.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-source-"));
after(() => rmSync(root, { recursive: true, force: true }));

describe("what is to be installed", () => {
  it("is a package, a tarball or a folder", () => {
    writeFileSync(join(root, "a-1.0.0.tgz"), "");
    for (const spec of [
      "engine",
      "engine@1.2.3",
      "@acme/engine@^1.0.0",
      "engine@latest",
      "https://x.example/a.tgz",
    ])
      assert.deepEqual(parseSource(spec, root), { kind: "npm", spec });
    assert.deepEqual(parseSource("a-1.0.0.tgz", root), { kind: "tarball", spec: join(root, "a-1.0.0.tgz") });
    assert.deepEqual(parseSource(".", root), { kind: "folder", spec: root });
    assert.deepEqual(parseSource(root, "/"), { kind: "folder", spec: root });
  });

  it("is never an option of npm, an alias, a repository or a plain address", () => {
    for (const spec of [
      "--global",
      "-g",
      "a@npm:b",
      "github:a/b",
      "git+ssh://a/b",
      "a/b",
      "http://x/a.tgz",
      "file:../x",
      "",
      " ",
      "a b",
      "a\n--b",
    ])
      assert.throws(() => parseSource(spec, root), { code: "usage_invalid", message: /^[^\n]+\.$/ }, spec);
  });

  it("is never an address with a login, which would be kept and shown", () => {
    for (const spec of [
      "https://user:hunter2@x.example/a.tgz",
      "https://hunter2@x.example/a.tgz",
      "https:///user:hunter2@x.example/a.tgz",
      "http://user:hunter2@x.example/a.tgz",
      "git+ssh://user:hunter2@x.example/a",
    ])
      assert.throws(
        () => parseSource(spec, root),
        ({ code, message }: PagurusError) =>
          code === "usage_invalid" && message.includes(".npmrc") && !message.includes("hunter2"),
        spec,
      );
    assert.equal(parseSource("https://x.example/@acme/a.tgz", root).kind, "npm");
  });

  it("may be anything, and is refused in one sentence where it is none of these", () => {
    const text = fc.oneof(
      unicodeText(),
      fc.string().map((rest) => `./${rest}`),
      fc.constant(`./${"x".repeat(9_000)}`),
    );
    fc.assert(
      fc.property(text, (named) => {
        try {
          const { kind, spec } = parseSource(named, root);
          assert.ok(kind !== "npm" || /^[^-\s]/.test(spec));
        } catch (error) {
          assert.ok(error instanceof PagurusError, String(error));
          assert.match(error.message, /^[^\n]+\.$/);
        }
      }),
      { numRuns: runs(500) },
    );
  });
});
