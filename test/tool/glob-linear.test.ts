import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { globMatcher } from "../../packages/host/src/tool/files/glob-pattern.ts";
import { parseGitignore } from "../../packages/host/src/tool/files/gitignore.ts";
import { createPermissions } from "../../packages/host/src/tool/tool-permission.ts";
import { fixture, textOf } from "./fixture.ts";
import { FULL, runs } from "../runner/short-form.ts";

/** Reference matcher: tries every reading of a pattern of literals, `?`, `*` and `**`; correct and slow. */
function naive(pattern: string, path: string, atStart = true): boolean {
  const token = pattern.charAt(0);
  if (token === "") return path === "";
  if (token === "*") {
    const stars = /^\*+/.exec(pattern)?.[0].length ?? 1;
    const rest = pattern.slice(stars);
    if (stars > 1 && atStart && rest === "") return path !== "";
    if (stars > 1 && atStart && rest.startsWith("/")) {
      if (naive(rest.slice(1), path, true)) return true;
      const end = path.indexOf("/");
      return end > 0 && naive(pattern, path.slice(end + 1), true);
    }
    for (let length = 0; length <= path.length; length += 1) {
      if (path.slice(0, length).includes("/")) return false;
      if (naive(rest, path.slice(length), false)) return true;
    }
    return false;
  }
  if (path === "" || (token === "?" ? path.startsWith("/") : !path.startsWith(token))) return false;
  return naive(pattern.slice(1), path.slice(1), token === "/");
}

const word = (letters: string, most: number) =>
  fc.array(fc.constantFrom(...letters), { maxLength: most }).map((parts) => parts.join(""));

test("the pattern matcher agrees with an exhaustive one (finding F7)", () => {
  const runs = FULL ? 200_000 : 5_000;
  fc.assert(
    fc.property(word("ab/*?", 9), word("ab/", 9), (pattern, path) => {
      assert.equal(globMatcher(pattern)(path), naive(pattern, path), `${pattern} ~ ${path}`);
    }),
    { numRuns: runs, seed: 7 },
  );
});

test("braces in a pattern match what each of their alternatives matches (finding F7)", () => {
  fc.assert(
    fc.property(word("ab*?", 4), word("ab*", 3), word("ab*", 3), word("ab", 6), (start, one, two, path) => {
      const expected = naive(start + one + "a", path) || naive(start + two + "a", path);
      assert.equal(
        globMatcher(`${start}{${one},${two}}a`)(path),
        expected,
        `${start}{${one},${two}}a ~ ${path}`,
      );
    }),
    { numRuns: runs(2_000), seed: 7 },
  );
});

/** Backtracking on it would take longer than the age of the universe. */
const HOSTILE = `${"*a".repeat(100)}b`;
const NAME = `${"a".repeat(250)}c`;

test("a pattern of many stars finishes at once in glob, permission rules and ignore files (finding F7)", async (t) => {
  const { write, call, root } = fixture(t);
  write(NAME, "");
  write(".gitignore", `${HOSTILE}\n`);
  const outcome = await call("glob", { pattern: HOSTILE });
  assert.match(textOf(outcome), /No file matches/);
  assert.equal(textOf(await call("glob", { pattern: `${"*a".repeat(100)}*c` })), NAME);
  const { hidden } = createPermissions({
    permission: { mode: "deny", deny: [{ tool: "read", match: HOSTILE }] },
    root,
  });
  assert.equal(hidden("read", `${root}/${NAME}`), false);
  assert.equal(hidden("read", `${root}/${NAME.slice(0, -1)}b`), true);
  assert.equal(parseGitignore(`${"**/a*".repeat(50)}b`)(`${"aa/".repeat(100)}c`, false), undefined);
});

test("an abort stops a glob over many files while it compares names (finding F7)", async (t) => {
  const { write, call } = fixture(t);
  for (let index = 0; index < 300; index += 1) write(`${"a".repeat(200)}${index}`, "");
  const controller = new AbortController();
  const soon = setImmediate(() => controller.abort());
  const outcome = await call("glob", { pattern: `${"{*a,*aa,?*a}".repeat(70)}x` }, controller.signal);
  clearImmediate(soon);
  assert.match(textOf(outcome), /Aborted/);
});
