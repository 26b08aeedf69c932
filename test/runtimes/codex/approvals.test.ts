import assert from "node:assert/strict";
import { test } from "node:test";
import { bareCommand } from "../../../packages/runtimes/src/codex/codex-approvals.ts";

for (const [command, bare] of [
  ["/bin/bash -lc ls", "ls"],
  ["/bin/bash -lc 'cat a b'", "cat a b"],
  [`bash -c 'echo '"'"'it'"'"''`, "echo 'it'"],
  [String.raw`/usr/bin/zsh -lc "echo \"a\" \$HOME 'b'"`, `echo "a" $HOME 'b'`],
  [String.raw`/bin/sh -c a\ b`, "a b"],
  ["/bin/bash -lc 'cat <<EOF\nx\nEOF'", "cat <<EOF\nx\nEOF"],
] as const)
  test(`the command inside the shell call ${JSON.stringify(command)} is extracted`, () => {
    assert.equal(bareCommand(command), bare);
  });

for (const command of [
  "ls -la",
  "/bin/bash script.sh",
  "/bin/bash -lc ls arg0",
  "/bin/bash -lc 'cut",
  "mybash",
])
  test(`${JSON.stringify(command)} is not a shell call with a script alone, and stays unchanged`, () => {
    assert.equal(bareCommand(command), command);
  });
