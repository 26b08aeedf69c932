/** Each command that a text of the source names exists: reasons of a migration, advice of an error, notices. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { sourceFiles } from "../../scripts/source-files.ts";
import { blanked } from "../../scripts/source-tokens.ts";
import { buildProgram } from "../../packages/cli/src/cli-program.ts";
import { completionTree } from "../../packages/cli/src/completion/completion-tree.ts";
import { fakeCli } from "./fake-cli.ts";

/** Words after the program's name in sentences that are about the program itself. */
const PROSE = new Set(["in", "is", "with", "notifications", "plugin", "summary", "loads", "finds"]);
/** Groups that do something by themselves, so that any word may follow. */
const RUN_ALONE = new Set(["serve", "trust", "wire", "acp", "run", "chat", "status", "open"]);

test("each command that a text names exists", async () => {
  const tree = completionTree(await buildProgram(fakeCli(), () => Promise.resolve()));
  const known = new Map(tree.map(({ path, subcommands }) => [path, subcommands.map(({ name }) => name)]));
  const named = sourceFiles(ROOT).flatMap((file) => {
    const texts = blanked(readFileSync(join(ROOT, file), "utf8"), ["comment"]);
    return [...texts.matchAll(/(?<!\/)\bpagurus ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/g)].map(
      ([words, first = "", second]) => ({ file, words, first, second }),
    );
  });
  const wrong = named.filter(({ first, second }) => {
    const subcommands = known.get(first);
    if (!subcommands) return !PROSE.has(first) && first !== "help";
    return (
      second !== undefined && subcommands.length > 0 && !RUN_ALONE.has(first) && !subcommands.includes(second)
    );
  });
  assert.ok(named.length > 200, `${named.length} names`);
  assert.deepEqual(
    wrong.map(({ file, words }) => `${file}: ${words}`),
    [],
  );
});
