import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { sourceFiles } from "../../scripts/source-files.ts";
import { codeBlocks, PAGES } from "./pages.ts";

const flat = (text: string): string => text.replaceAll(/[\s>*/]+/g, " ");

describe("the documentation", () => {
  it("has no sentence that is outdated or unclear to a new reader (finding E1, E3)", () => {
    const gone = [
      "The model gateway comes next",
      "belong to runtimes to come",
      "Only `queued` exists today",
      "`auto` allows everything but writes outside",
      "the model finds what is out of its sight",
      "answers nonsense costs its own contribution",
      "Two compaction lanes with one rule each",
      "asks nobody for leave",
      "is not taken in yet",
      "its input is kept in the transcript but not in the conversation",
      "Nothing leaves the context before it has to",
      "`BUNDLED_ENGINES`",
      "`acp.config.context`",
    ];
    const sources = sourceFiles(ROOT);
    for (const file of [...PAGES, ...sources]) {
      const text = flat(readFileSync(join(ROOT, file), "utf8"));
      for (const sentence of gone) assert.ok(!text.includes(flat(sentence)), `${file}: ${sentence}`);
    }
  });

  it("begins with two commands, one line each, that are complete on a fresh clone (finding E2)", () => {
    const [first = ""] = codeBlocks("README.md", "sh");
    const commands = first.trim().split("\n");
    assert.equal(commands.length, 2);
    for (const command of commands) assert.match(command, /^npm ci && /);
    assert.match(commands[1] ?? "", /npm test$/);
  });

  it("has a start for each kind of user, one screen each, and one picture of the words (finding E2)", () => {
    const readme = readFileSync(join(ROOT, "README.md"), "utf8");
    const sections = new Map(
      readme
        .split(/^## /m)
        .slice(1)
        .map((section) => [section.split("\n")[0] ?? "", section.split("\n").length]),
    );
    const kinds =
      "Keep your agent|With a subscription|A key and no agent|A local model|The library|A plugin".split("|");
    for (const kind of kinds)
      assert.ok((sections.get(kind) ?? 99) <= 40, `${kind}: ${sections.get(kind)} lines`);
    const picture = codeBlocks("README.md", "").find((block) => block.includes("context engine")) ?? "";
    for (const word of ["session", "agent runtime", "seam", "context engine", "epoch"])
      assert.ok(picture.includes(word), word);
    for (const guide of ["library", "write-a-tool", "write-a-hook"])
      assert.ok(PAGES.includes(`docs/guides/${guide}.md`), guide);
  });
});
