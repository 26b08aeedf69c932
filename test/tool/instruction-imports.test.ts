import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import {
  FOREIGN_INSTRUCTIONS,
  INSTRUCTION_GROUPS,
  LOCAL_INSTRUCTIONS,
  RULES_FOLDER,
} from "../../packages/core/src/config/instruction-files.ts";
import { readSystem } from "../../packages/host/src/turn/prepare/system-prompt.ts";
import { projectInstructions } from "../../packages/host/src/tool/project-instructions.ts";
import { temporaryFolder } from "./fixture.ts";

/** A repository with these files; the texts that its instructions have, and the reasons of those left out, by path. */
function read(t: TestContext, files: Record<string, string>, cwd = "."): Record<string, string> {
  const base = temporaryFolder(t);
  const root = join(base, "repo");
  write(root, { ".git/HEAD": "ref: refs/heads/main\n", ...files });
  return Object.fromEntries(
    projectInstructions(join(root, cwd), { home: base }).map(({ path, text, unreadable }) => [
      path.replace(`${root}/`, ""),
      unreadable === undefined ? text : `(${unreadable.replaceAll(`${root}/`, "")})`,
    ]),
  );
}

function write(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

test("an import adds its file after the one that names it, relative to that file, once", (t) => {
  const found = read(t, {
    "CLAUDE.md": "Rules start.\n@docs/rules.md and see @docs/rules.md.\n",
    "docs/rules.md": "rule @more/deep.md",
    "docs/more/deep.md": "deep @../rules.md",
  });
  assert.deepEqual(Object.keys(found), ["CLAUDE.md", "docs/rules.md", "docs/more/deep.md"]);
});

test("AGENTS.md imports too; code, addresses and packages are no imports", (t) => {
  const found = read(t, {
    "AGENTS.md":
      "`@a.md` and\n```\n@b.md\n```\n~~~\n@b.md\n~~~\nann@c.md @types/node @scope/pkg (@d.md) ``@e.md``\n@README, please",
    ...Object.fromEntries(["a.md", "b.md", "c.md", "d.md", "e.md", "README"].map((name) => [name, name])),
  });
  assert.deepEqual(Object.keys(found), ["AGENTS.md", "d.md", "README"]);
});

test("an import leaves the project neither by its path nor by a link, and no hidden file is one", (t) => {
  const base = temporaryFolder(t);
  const root = join(base, "repo");
  write(base, { "secret.md": "key" });
  write(root, {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".env": "KEY=1",
    "AGENTS.md": `@../secret.md @${base}/secret.md @link.md @.env @gone.md`,
  });
  symlinkSync("../secret.md", join(root, "link.md"));
  const found = projectInstructions(root, { home: base });
  assert.ok(!JSON.stringify(found).includes('"key'));
  assert.deepEqual(
    found.slice(1).map(({ unreadable }) => unreadable?.replaceAll(`${root}/`, "")),
    [
      "AGENTS.md imports it from outside of the project",
      "AGENTS.md imports it from outside of the project",
      "AGENTS.md imports it, and it does not exist",
    ],
  );
});

test("without a repository an import stays in the folder of the instructions", (t) => {
  const home = temporaryFolder(t);
  write(home, {
    ".ssh/config.md": "Host x",
    "work/AGENTS.md": "@../.ssh/config.md @here.md",
    "work/here.md": "h",
  });
  const found = projectInstructions(join(home, "work"), { home });
  assert.deepEqual(
    found.map(({ text }) => text),
    ["@../.ssh/config.md @here.md", "", "h"],
  );
});

test("imports end at the fifth level, and a circle ends", (t) => {
  const chain = Object.fromEntries([1, 2, 3, 4, 5, 6].map((at) => [`${at}.md`, `level ${at} @${at + 1}.md`]));
  const found = read(t, { ...chain, "7.md": "last", "AGENTS.md": "@1.md" });
  assert.deepEqual(Object.keys(found), ["AGENTS.md", "1.md", "2.md", "3.md", "4.md", "5.md", "6.md"]);
  assert.equal(found["6.md"], "(@6.md is one import too many)");
  assert.deepEqual(Object.keys(read(t, { "AGENTS.md": "@a.md", "a.md": "@AGENTS.md" })), [
    "AGENTS.md",
    "a.md",
  ]);
});

test("a folder's files of Claude Code are read together, its rules for certain files are not", (t) => {
  const found = read(t, {
    "CLAUDE.md": "main",
    ".claude/CLAUDE.md": "dot",
    "CLAUDE.local.md": "local",
    ".claude/rules/b.md": "b",
    ".claude/rules/sub/a.md": "a",
    ".claude/rules/ts.md": '---\npaths: "**/*.ts"\n---\nfor ts',
    ".claude/rules/x.txt": "x",
  });
  assert.deepEqual(found, {
    "CLAUDE.md": "main",
    ".claude/CLAUDE.md": "dot",
    "CLAUDE.local.md": "local",
    ".claude/rules/b.md": "b",
    ".claude/rules/sub/a.md": "a",
  });
});

test("a link to a file that is read already adds nothing", (t) => {
  const root = temporaryFolder(t);
  write(root, { "CLAUDE.md": "main", ".claude/x": "" });
  symlinkSync("../CLAUDE.md", join(root, ".claude", "CLAUDE.md"));
  assert.equal(projectInstructions(root, { home: "/nowhere" }).length, 1);
});

test("the first group of files counts, each alone is read, and what is local is added", (t) => {
  const groups = INSTRUCTION_GROUPS.map((group) => group.map(({ path }) => path));
  for (const [at, paths] of groups.entries()) {
    const later = groups.slice(at).flat();
    const files = Object.fromEntries(
      [...later, LOCAL_INSTRUCTIONS.path].map((path) => [path, `text of ${path}`]),
    );
    assert.deepEqual(Object.keys(read(t, files)), [...paths, LOCAL_INSTRUCTIONS.path]);
  }
  assert.deepEqual(read(t, { [`${RULES_FOLDER.path}a.md`]: "alone" }), {
    [`${RULES_FOLDER.path}a.md`]: "alone",
  });
});

test("rules of other programs are named where a folder has no others, and only there", (t) => {
  const files = Object.fromEntries(
    FOREIGN_INSTRUCTIONS.map(({ path }) => [path.endsWith("/") ? `${path}a.md` : path, "rule"]),
  );
  const found = read(t, files);
  assert.equal(Object.keys(found).length, FOREIGN_INSTRUCTIONS.length);
  for (const [at, text] of Object.values(found).entries())
    assert.equal(
      text,
      `(rules of ${FOREIGN_INSTRUCTIONS[at]?.of} are not read here; put them into AGENTS.md)`,
    );
  assert.deepEqual(read(t, { ...files, "AGENTS.md": "own" }), { "AGENTS.md": "own" });
});

test("a program's own folder in the home folder is none of the project", (t) => {
  const home = temporaryFolder(t);
  write(home, { ".claude/CLAUDE.md": "own", ".claude/rules/a.md": "own", "x/AGENTS.md": "x" });
  assert.deepEqual(
    projectInstructions(join(home, "x"), { home }).map(({ text }) => text),
    ["x"],
  );
});

test("a folder whose rules are all for certain files has instructions", (t) => {
  const conditional = { ".claude/rules/ts.md": '---\npaths: "**/*.ts"\n---\nfor ts', ".cursorrules": "rule" };
  assert.deepEqual(read(t, conditional), {});
});

test("a rule whose files cannot be read counts for all files, and says so", (t) => {
  const root = temporaryFolder(t);
  write(root, {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".claude/rules/a.md": "---\npaths: ../x\n---\nUse tabs.",
  });
  const [rule] = projectInstructions(root, { home: "/nowhere" });
  assert.match(rule?.text ?? "", /Use tabs\./);
  assert.match(rule?.unconditional ?? "", /"\.\.\/x" leads out/);
  const { notices } = readSystem(root, true);
  assert.match(
    notices.join(),
    /^The rule in .*a\.md counts for all files and not for certain ones: the pattern/,
  );
});
