import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { command } from "./fake-cli.ts";

/** Bash's completions for the words typed so far. */
function complete(script: string, words: string[]): string[] {
  const ask = `${script}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pagurus; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const result = spawnSync("bash", ["-c", ask, "bash", ...words], { encoding: "utf8" });
  assert.equal(result.stderr, "");
  return result.stdout.trim().split("\n");
}

test("the bash script parses and offers commands, options and choices", async () => {
  const { out } = await command(["completion", "bash"]);
  const parsed = spawnSync("bash", ["-n"], { input: out, encoding: "utf8" });
  assert.deepEqual([parsed.status, parsed.stderr], [0, ""]);
  assert.ok(complete(out, ["pagurus", ""]).includes("sessions"));
  assert.deepEqual(complete(out, ["pagurus", "sessions", "ex"]), ["export"]);
  assert.deepEqual(complete(out, ["pagurus", "sessions", "export", "--fo"]), ["--format"]);
  assert.deepEqual(complete(out, ["pagurus", "sessions", "export", "--format", ""]), ["jsonl", "markdown"]);
  assert.deepEqual(complete(out, ["pagurus", "run", "-p", "a"]), ["ask", "auto"]);
  assert.deepEqual(complete(out, ["pagurus", "completion", "z"]), ["zsh"]);
});
