import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { PROOFS } from "../../scripts/prove-lines.ts";
import { shortCommands, shortFormOf, SHORT_SCRIPTS } from "../../scripts/short-forms.ts";
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

const ci = readFileSync(join(ROOT, ".ci/run"), "utf8");
const ciSteps = ci.split("\n").flatMap((line) => /^step (.+)$/.exec(line)?.[1] ?? []);

/** What is wrong with the short form of a step; undefined if CI runs it. */
function problemOf(step: (typeof steps)[number]): string | undefined {
  const form = shortFormOf(step);
  const what = step.args.join(" ");
  if (!form) return `${what} has no short form; add a row to scripts/short-forms.ts.`;
  if ("command" in form && !ciSteps.some((line) => line.startsWith(form.command)))
    return `${what}: .ci/run has no step ${form.command}`;
  if (!("tests" in form)) return undefined;
  const unmatched = form.tests.split(" ").filter((part) => !files.some(({ file }) => file.includes(part)));
  return unmatched.length === 0 ? undefined : `${what}: no test file ${unmatched.join(", ")}`;
}

test("each step of npm run prove has a short form, which CI runs", () => {
  assert.deepEqual(
    steps.flatMap((step) => problemOf(step) ?? []),
    [],
  );
  assert.ok(ciSteps.some((line) => line.endsWith("npm test --silent -- --all --repeat-failed")));
  assert.ok(ciSteps.some((line) => line.endsWith("npm test --silent -- test/real/ --repeat-failed")));
  assert.ok(ciSteps.includes("npm run --silent prove -- --short"));
});

test("a step without a short form fails by name, and so does one whose test or line of CI is gone", () => {
  const step = (...args: string[]): (typeof steps)[number] => ({ title: "planted", args });
  assert.match(problemOf(step("scripts/planted.ts")) ?? "", /^scripts\/planted\.ts has no short form/);
  assert.match(problemOf(step("scripts/test.ts", "test/planted/")) ?? "", /no test file test\/planted\//);
  assert.equal(problemOf(step("scripts/prove-bench.ts", "turn")), undefined);
});

test("each row of the short forms is of a step, and the table of the contract is one of them", () => {
  const begins = new Set(steps.map(({ args }) => args.find((arg) => arg !== "--no-warnings")));
  assert.deepEqual(
    SHORT_SCRIPTS.filter((script) => !begins.has(script)),
    [],
  );
  assert.ok(shortCommands().some(([script]) => script === "scripts/contract.ts"));
});
