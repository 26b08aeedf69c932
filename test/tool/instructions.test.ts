import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { projectInstructions } from "../../packages/host/src/tool/project-instructions.ts";
import { temporaryFolder } from "./fixture.ts";

function makeRepository(folder: string): void {
  mkdirSync(join(folder, ".git"), { recursive: true });
  writeFileSync(join(folder, ".git", "HEAD"), "ref: refs/heads/main\n");
}

test("instructions are read from the repository's root down to the working folder", (t) => {
  const base = temporaryFolder(t);
  const cwd = join(base, "repo", "a", "b");
  mkdirSync(cwd, { recursive: true });
  makeRepository(join(base, "repo"));
  writeFileSync(join(base, "AGENTS.md"), "not of this repository");
  writeFileSync(join(base, "repo", "AGENTS.md"), "root");
  writeFileSync(join(base, "repo", "CLAUDE.md"), "not beside AGENTS.md");
  writeFileSync(join(base, "repo", "a", "AGENTS.md"), "  \n");
  writeFileSync(join(base, "repo", "a", "CLAUDE.md"), "middle");
  writeFileSync(join(cwd, "AGENTS.md"), "leaf");
  assert.deepEqual(projectInstructions(cwd, { home: base }), [
    { path: join(base, "repo", "AGENTS.md"), text: "root" },
    { path: join(base, "repo", "a", "CLAUDE.md"), text: "middle" },
    { path: join(cwd, "AGENTS.md"), text: "leaf" },
  ]);
  assert.deepEqual(projectInstructions(cwd, { home: base }), projectInstructions(cwd, { home: base }));
});

test("an empty .git, as left by sandboxes, is not a repository", (t) => {
  const base = temporaryFolder(t);
  const cwd = join(base, "x");
  mkdirSync(join(base, ".git"));
  mkdirSync(cwd);
  for (const folder of [base, cwd]) writeFileSync(join(folder, "AGENTS.md"), folder);
  const texts = () => projectInstructions(cwd, { home: join(base, "elsewhere") }).map(({ text }) => text);
  assert.deepEqual(texts(), [cwd]);
  writeFileSync(join(base, ".git", "HEAD"), "ref: refs/heads/main\n");
  assert.deepEqual(texts(), [base, cwd]);
});

test("without a repository the search ends at home, and outside of home at the folder itself", (t) => {
  const base = temporaryFolder(t);
  const cwd = join(base, "home", "x");
  mkdirSync(cwd, { recursive: true });
  for (const folder of [base, join(base, "home"), cwd]) writeFileSync(join(folder, "AGENTS.md"), folder);
  const texts = (home: string) => projectInstructions(cwd, { home }).map(({ text }) => text);
  assert.deepEqual(texts(join(base, "home")), [join(base, "home"), cwd]);
  assert.deepEqual(texts(join(base, "elsewhere")), [cwd]);
});

test("a long file is cut at a whole character, with a note", (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, "AGENTS.md"), `x${"é".repeat(40_000)}`);
  const [only] = projectInstructions(cwd);
  assert.match(only?.text ?? "", /é\n\[cut: the first 32768 of 80001 bytes\]$/);
  assert.ok(!only?.text.includes("\uFFFD"));
  assert.deepEqual(only?.cut, { fromBytes: 80_001, toBytes: 32_768 });
});

test("a link out of the tree is reported and not read, a folder of that name is not a file", (t) => {
  const base = temporaryFolder(t);
  const cwd = join(base, "repo");
  makeRepository(cwd);
  mkdirSync(join(cwd, "sub", "AGENTS.md"), { recursive: true });
  writeFileSync(join(base, "secret"), "key");
  symlinkSync("../secret", join(cwd, "AGENTS.md"));
  writeFileSync(join(cwd, "sub", "real.md"), "linked");
  symlinkSync("real.md", join(cwd, "sub", "CLAUDE.md"));
  assert.deepEqual(projectInstructions(join(cwd, "sub")), [
    { path: join(cwd, "AGENTS.md"), text: "", unreadable: "it is a link that leads out of the project" },
    { path: join(cwd, "sub", "CLAUDE.md"), text: "linked" },
  ]);
});

test("an unreadable file is reported, and the other name is read instead", (t) => {
  const cwd = temporaryFolder(t);
  symlinkSync("AGENTS.md", join(cwd, "AGENTS.md"));
  writeFileSync(join(cwd, "CLAUDE.md"), "other");
  assert.deepEqual(projectInstructions(cwd), [
    { path: join(cwd, "AGENTS.md"), text: "", unreadable: "the system says ELOOP" },
    { path: join(cwd, "CLAUDE.md"), text: "other" },
  ]);
});
