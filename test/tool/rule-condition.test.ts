/** Conditions of rules for certain files: which files a rule is for, and what a notice says where that cannot be read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ruleCondition } from "../../packages/host/src/tool/rule-condition.ts";

const FOLDER = "/work/app";

/** The files of the folder that a rule with this front matter is for; "all" without a condition, else its problem. */
function filesOf(matter: string, files: readonly string[]): readonly string[] | string {
  const condition = ruleCondition(`---\n${matter}\n---\nUse tabs.\n`, FOLDER);
  if (condition === undefined) return "all";
  if (typeof condition === "object") return condition.problem;
  return files.filter((file) => condition(`${FOLDER}/${file}`));
}

const FILES = ["a.ts", "b.md", "src/a.ts", "src/in/b.tsx", "lib/c.js", "..x/d.ts", ".env.ts"];

test("patterns are read in every form that programs write", () => {
  const sources = ["src/a.ts", "src/in/b.tsx"];
  for (const matter of [
    "paths: src/**",
    'paths: "src/**"',
    "paths: 'src/**/*'",
    "paths: src/*.ts, src/**/*.tsx",
    "paths: {src,none}/**/*.{ts,tsx}",
    'paths: "src/*.ts", "src/**/*.tsx"',
    "paths:\n  # sources\n\n  - src/*.ts  # top\n  - 'src/**/*.tsx'",
    'paths: [\n  "src/*.ts",\n  src/**/*.{tsx,jsx}\n]',
    "globs: src/**",
    "description: for sources\npaths: src",
    "paths: src/",
    "paths: ./src/**",
    "paths: /src/**",
    `paths: ${FOLDER}/src/**`,
    'paths: ["**/*.{ts,tsx}", "!*.ts", "!..x/**", "!lib"]',
  ])
    assert.deepEqual(filesOf(matter, FILES), sources, matter);
  assert.deepEqual(filesOf("paths: **/*.ts", FILES), ["a.ts", "src/a.ts", "..x/d.ts", ".env.ts"]);
  assert.deepEqual(filesOf("paths: ..x/**", FILES), ["..x/d.ts"]);
  assert.deepEqual(filesOf("paths: .", FILES), FILES);
  assert.equal(filesOf("description: for all", FILES), "all");
});

test("a file outside of the folder is no match", () => {
  const condition = ruleCondition("---\npaths: '**'\n---\n", FOLDER);
  assert.ok(typeof condition === "function");
  assert.equal(condition("/work/other/a.ts"), false);
  assert.equal(condition("/work/app2/a.ts"), false);
});

test("a condition that cannot be read says why", () => {
  for (const [matter, problem] of [
    ["paths:", /"paths" has no pattern/],
    ["paths: []", /"paths" has no pattern/],
    ["paths:\n  src: x", /"paths" has no pattern/],
    ["paths: ../other/**", /"..\/other\/\*\*" leads out of \/work\/app$/],
    ["paths: ~/x", /leads out/],
    ["paths: '[z-a].ts'", /^the pattern "\[z-a\]\.ts\/\*\*" cannot be read/],
    ["paths: !x", /\(line 2\) begins with "!"/],
    ["paths: src/**\nwhat is this", /line 3 /],
  ] as const)
    assert.match(String(filesOf(matter, FILES)), problem, matter);
  const open = ruleCondition("---\npaths: src/**\nUse tabs.", FOLDER);
  assert.ok(typeof open === "object" && /no closing/.test(open.problem));
});
