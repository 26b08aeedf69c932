import assert from "node:assert/strict";
import { test } from "node:test";
import { bareCommand } from "../../../src/runtimes/codex/approvals.ts";

for (const [told, bare] of [
  ["/bin/bash -lc ls", "ls"],
  ["/bin/bash -lc 'cat a b'", "cat a b"],
  [`bash -c 'echo '"'"'it'"'"''`, "echo 'it'"],
  [String.raw`/usr/bin/zsh -lc "echo \"a\" \$HOME 'b'"`, `echo "a" $HOME 'b'`],
  [String.raw`/bin/sh -c a\ b`, "a b"],
  ["/bin/bash -lc 'cat <<EOF\nx\nEOF'", "cat <<EOF\nx\nEOF"],
] as const)
  test(`what the shell of ${JSON.stringify(told)} runs is told without the shell`, () => {
    assert.equal(bareCommand(told), bare);
  });

for (const told of ["ls -la", "/bin/bash script.sh", "/bin/bash -lc ls arg0", "/bin/bash -lc 'cut", "mybash"])
  test(`${JSON.stringify(told)} is no call of a shell with a script alone, and stays as it is`, () => {
    assert.equal(bareCommand(told), told);
  });
