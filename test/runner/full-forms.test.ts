import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { PROOFS } from "../../scripts/prove-lines.ts";
import { filesUnder } from "../../scripts/source-files.ts";

const files = filesUnder(ROOT, "test", ".test.ts").map((file) => ({
  file,
  text: readFileSync(join(ROOT, file), "utf8"),
}));
const steps = Object.values(PROOFS).flatMap((proof) => proof.steps);
/** Parts of the paths of test files that some line of `npm run prove` runs. */
const proved = steps.flatMap(({ args }) => (args[0] === "scripts/test.ts" ? args.slice(1) : []));

test("each test file with a short form is run in full by a line of npm run prove", () => {
  const short = files.filter(({ text }) => / from "[./]+\/runner\/short-form\.ts"/.test(text));
  assert.ok(short.length > 50, `${short.length} files have a short form`);
  const left = short.filter(({ file }) => !proved.some((part) => file.includes(part)));
  assert.deepEqual(
    left.map(({ file }) => file),
    [],
  );
});

test("each path in a line of npm run prove matches a test file", () => {
  assert.deepEqual(
    proved.filter((part) => !files.some(({ file }) => file.includes(part))),
    [],
  );
});
