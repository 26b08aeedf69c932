/** Which tests a change can break. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { testsOf } from "../../scripts/changed-tests.ts";

const SOURCES = new Map([
  ["packages/core/src/data/clock.ts", "export const clock = 1;"],
  ["packages/core/src/tokens/count.ts", `import { clock } from "../data/clock.ts";`],
  ["packages/server/src/server.ts", `import { count } from "@pagurus/core/tokens/count";`],
  ["packages/cli/src/main.ts", `const server = await import("@pagurus/server/server");`],
  ["packages/cli/src/worker-place.ts", `new URL("./worker.ts", import.meta.url);`],
  ["packages/cli/src/worker.ts", ""],
  ["test/core/clock.test.ts", `import { clock } from "../../packages/core/src/data/clock.ts";`],
  ["test/server/server.test.ts", `import { server } from "../../packages/server/src/server.ts";`],
  ["test/server/pages.test.ts", `readFileSync("docs/errors.md");`],
  ["test/cli/worker.test.ts", `import "../../packages/cli/src/worker-place.ts";`],
  ["test/cli/main.process.test.ts", ""],
  ["test/real/codex.process.test.ts", ""],
  ["test/docs/links.test.ts", ""],
]);

test("a change runs the tests that reach it over other packages, and those that start the program with it", () => {
  assert.deepEqual(testsOf(["packages/core/src/data/clock.ts"], SOURCES), [
    "test/core/clock.test.ts",
    "test/server/server.test.ts",
    "test/cli/main.process.test.ts",
  ]);
});

test("a change of a module that is loaded by its address runs the tests of what loads it, and no others", () => {
  assert.deepEqual(testsOf(["packages/cli/src/worker.ts"], SOURCES), ["test/cli/worker.test.ts"]);
});

test("a change of a page runs the tests of pages and those that name it", () => {
  assert.deepEqual(testsOf(["docs/errors.md"], SOURCES), [
    "test/server/pages.test.ts",
    "test/docs/links.test.ts",
  ]);
});

test("a changed test runs alone, and a change of the packages or of the runner runs all", () => {
  assert.deepEqual(testsOf(["test/core/clock.test.ts"], SOURCES), ["test/core/clock.test.ts"]);
  for (const path of [
    "package-lock.json",
    "packages/core/package.json",
    "scripts/test-job.ts",
    "test/runner/until.ts",
  ])
    assert.equal(testsOf([path], SOURCES), undefined, path);
});
