import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { globMatcher } from "../../packages/host/src/tool/files/glob-pattern.ts";
import { parseGitignore } from "../../packages/host/src/tool/files/gitignore.ts";
import { fixture, textOf } from "./fixture.ts";
import { longTest } from "../runner/long-tests.ts";

test("patterns match as in shells and git", () => {
  const table: [string, string, boolean][] = [
    ["*.ts", "a.ts", true],
    ["*.ts", "a/b.ts", false],
    ["**/*.ts", "a.ts", true],
    ["**/*.ts", "a/b/c.ts", true],
    ["src/**", "src/a/b", true],
    ["src/**", "src", false],
    ["src/**/x.js", "src/x.js", true],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["a?c", "a😀c", true],
    ["[a-c].md", "b.md", true],
    ["[!a-c].md", "b.md", false],
    ["[!a].md", "/.md", false],
    ["*.{ts,tsx}", "a.tsx", true],
    ["{a,b{c,d}}", "bd", true],
    ["a{b", "a{b", true],
    [String.raw`\*.md`, "*.md", true],
    [String.raw`\*.md`, "a.md", false],
    ["a+b(c).$", "a+b(c).$", true],
    [".*", ".env", true],
    ["**", "a/.b/c", true],
  ];
  for (const [pattern, path, expected] of table) {
    assert.equal(globMatcher(pattern)(path), expected, `${pattern} ~ ${path}`);
  }
  assert.throws(() => globMatcher("x".repeat(2_000)), /at most/);
  assert.throws(() => globMatcher("[z-a]"), /cannot be read/);
});

test("gitignore rules: the last rule wins, folders, anchors, escapes", () => {
  const ignores = parseGitignore(
    "# c\n*.log\n!keep.log\n/top\nbuild/\na/*.tmp\n\\#x\n{a,b}\ntrail  \n[z-a]\n",
  );
  assert.equal(ignores("x/y.log", false), true);
  assert.equal(ignores("keep.log", false), false);
  assert.equal(ignores("top", false), true);
  assert.equal(ignores("x/top", false), undefined);
  assert.equal(ignores("x/build", true), true);
  assert.equal(ignores("x/build", false), undefined);
  assert.equal(ignores("a/b.tmp", false), true);
  assert.equal(ignores("x/a/b.tmp", false), undefined);
  assert.equal(ignores("#x", false), true);
  assert.equal(ignores("a", false), undefined);
  assert.equal(ignores("trail", false), true);
});

test("glob lists sorted files without .git, node_modules and what git ignores", async (t) => {
  const { write, call, root } = fixture(t);
  for (const path of [
    "b.ts",
    "a/z.ts",
    "a/.hidden.ts",
    "a-b/y.ts",
    ".git/x.ts",
    "node_modules/m/x.ts",
    "out/x.ts",
  ]) {
    write(path, "");
  }
  write(".gitignore", "out/\n");
  write("a/.gitignore", "!z.ts\n");
  symlinkSync("..", join(root, "a", "loop"));
  const listed = "a/.hidden.ts\na/z.ts\na-b/y.ts\nb.ts";
  assert.equal(textOf(await call("glob", { pattern: "*.ts" })), listed);
  assert.equal(textOf(await call("glob", { pattern: "./**/*.ts" })), listed);
  assert.equal(textOf(await call("glob", { pattern: "*.ts", path: "node_modules" })), "node_modules/m/x.ts");
  assert.equal(textOf(await call("glob", { pattern: "*.ts", path: "a" })), "a/.hidden.ts\na/z.ts");
  assert.match(textOf(await call("glob", { pattern: "*.ts", limit: 1 })), /^a\/\.hidden\.ts\n\[3 more/);
  assert.match(textOf(await call("glob", { pattern: "*.py" })), /No file matches/);
  assert.match(textOf(await call("glob", { pattern: "../*" })), /must be relative/);
  assert.match(textOf(await call("glob", { pattern: "*", path: "missing" })), /cannot be read: ENOENT/);
});

test("search returns path, line and text, sorted, and skips what glob skips", async (t) => {
  const { write, call } = fixture(t, { env: { PATH: "" } });
  write("b.txt", "alpha\nbeta Alpha\r\n");
  write("a/c.md", "alpha\n");
  write("node_modules/x.txt", "alpha");
  write("bin.dat", Buffer.from("alpha\0alpha"));
  assert.equal(textOf(await call("search", { pattern: "alpha" })), "a/c.md:1: alpha\nb.txt:1: alpha");
  assert.equal(
    textOf(await call("search", { pattern: "^(alph|beta).*a$", ignore_case: true, glob: "*.txt" })),
    "b.txt:1: alpha\nb.txt:2: beta Alpha",
  );
  assert.equal(textOf(await call("search", { pattern: "(?i)BETA", path: "b.txt" })), "b.txt:2: beta Alpha");
  assert.match(
    textOf(await call("search", { pattern: "alpha", limit: 1 })),
    /^a\/c\.md:1: alpha\n\[more than 1/,
  );
  assert.match(textOf(await call("search", { pattern: "gamma" })), /No line matches/);
  assert.match(textOf(await call("search", { pattern: "(" })), /not a valid regular expression/);
  assert.match(textOf(await call("search", { pattern: "x", path: "nope" })), /does not exist/);
  write("wide.txt", `needle${"x".repeat(2_000)}`);
  assert.ok(textOf(await call("search", { pattern: "needle" })).length < 400);
});

longTest("a runaway expression is stopped and named", async (t) => {
  const { write, call } = fixture(t, { env: { PATH: "" } });
  write("a.txt", `${"a".repeat(40)}!`);
  const outcome = await call("search", { pattern: "^(a+)+$" });
  assert.equal(outcome.isError, true);
  assert.match(textOf(outcome), /takes too long/);
});

test("an abort stops a walk", async (t) => {
  const { root, call } = fixture(t);
  mkdirSync(join(root, "x"));
  const outcome = await call("glob", { pattern: "**" }, AbortSignal.abort());
  assert.match(textOf(outcome), /Aborted/);
});
