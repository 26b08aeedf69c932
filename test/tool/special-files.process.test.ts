/** A folder whose files are named pipes, as a hostile archive or command can leave them: the host never waits for them. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fixture } from "./fixture.ts";

const PIPES = [
  "package.json",
  ".gitignore",
  "word.txt",
  "AGENTS.md",
  ".env",
  ".git/commondir",
  ".git/config",
  ".git/hooks/pre-commit",
  ".claude/settings.json",
  ".qwen/settings.json",
  "opencode.json",
];

test(
  "named pipes in the place of files keep no tool, command or wrapped program waiting",
  { skip: process.platform === "win32" },
  (t) => {
    const { root, base } = fixture(t);
    const home = join(base, "user");
    for (const name of ["qwen", "opencode"]) {
      mkdirSync(join(home, "bin"), { recursive: true });
      writeFileSync(join(home, "bin", name), "#!/bin/sh\n", { mode: 0o755 });
    }
    for (const name of PIPES) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      execFileSync("mkfifo", [join(root, name)]);
    }
    writeFileSync(join(root, ".git/HEAD"), "ref: refs/heads/main\n");
    mkdirSync(join(root, ".git/objects"));
    const child = join(import.meta.dirname, "special-files.child.ts");
    const { stdout, stderr, signal } = spawnSync(process.execPath, [child, root, home], {
      encoding: "utf8",
      timeout: 120_000,
      killSignal: "SIGKILL",
    });
    assert.equal(signal, null, `it still waits after: ${stdout}${stderr}`);
    const steps = stdout.trim().split("\n");
    assert.deepEqual(
      steps.map((line) => line.split(":")[0]),
      ["read", "edit", "write", "glob", "search", "shell"].concat([
        "qwen not trusted",
        "qwen trusted",
        "opencode not trusted",
        "opencode trusted",
        "claude",
      ]),
      stderr,
    );
    assert.match(stdout, /read: .*not a regular file/);
    assert.match(stdout, /claude: 1 withheld/);
  },
);
