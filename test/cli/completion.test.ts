import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { completionTree } from "../../packages/cli/src/completion/completion-tree.ts";
import { command, fakeCli } from "./fake-cli.ts";
import { buildProgram } from "../../packages/cli/src/cli-program.ts";

test("the tree holds every command with its options and choices", async () => {
  const tree = completionTree(await buildProgram(fakeCli(), () => Promise.resolve()));
  const paths = tree.map((node) => node.path);
  for (const path of [
    "",
    "run",
    "chat",
    "sessions delete",
    "context diff",
    "config schema",
    "plugins install",
    "plugins uninstall",
    "doctor",
    "completion",
  ]) {
    assert.ok(paths.includes(path), path);
  }
  assert.equal(tree.find((node) => node.path === "plugins install")?.files, true);
  const run = tree.find((node) => node.path === "run");
  const option = (long: string) => run?.options.find((one) => one.long === long);
  assert.deepEqual(option("--permission")?.choices, ["read-only", "deny", "ask", "sandbox", "auto"]);
  assert.deepEqual([option("--cwd")?.takes, option("--image")?.takes], ["folder", "file"]);
  assert.deepEqual([option("--max-cost")?.takes, option("--heartbeat")?.takes], ["text", "nothing"]);
  const chat = tree.find((node) => node.path === "chat")?.options.map(({ long }) => long) ?? [];
  assert.deepEqual([chat.includes("--max-cost"), chat.includes("--heartbeat")], [true, false]);
  assert.deepEqual([option("--model")?.takes, option("--json")?.takes], ["text", "nothing"]);
});

test("a quote in a description does not break out of any script", async () => {
  const program = new Command("pagurus");
  program.command("a").description("it's [x]: $(touch /) `y`").option("--b <file>", "don't");
  const { bashScript } = await import("../../packages/cli/src/completion/completion-bash.ts");
  const { zshScript } = await import("../../packages/cli/src/completion/completion-zsh.ts");
  const { fishScript } = await import("../../packages/cli/src/completion/completion-fish.ts");
  const tree = completionTree(program);
  assert.doesNotMatch(bashScript(tree), /touch/);
  assert.match(zshScript(tree), /'a:it'\\''s \[x\]\\: \$\(touch \/\) `y`'/);
  assert.match(fishScript(tree), /-d 'it\\'s \[x\]: \$\(touch \/\) `y`'/);
});

test("each script names every command", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, out } = await command(["completion", shell]);
    assert.equal(code, 0);
    for (const word of ["run", "sessions", "preview", "unset", "doctor", "max-cost", "heartbeat"])
      assert.ok(out.includes(word), word);
  }
});
