import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ROOT } from "../../scripts/command.ts";

const PAGE = "docs/architecture/way-of-a-prompt.md";
const STAGES = ["admit", "prepare", "open", "run", "record", "settle"];

interface Step {
  stage: string;
  file: string;
  names: string[];
}

function codeIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

/** Rows of the page by heading. */
function ways(): Map<string, Step[]> {
  const found = new Map<string, Step[]>();
  for (const section of readFileSync(join(ROOT, PAGE), "utf8").split(/^## /m).slice(1)) {
    const rows = section.matchAll(/^\|([^|]*)\|([^|]*)\|([^|]*)\|[^|]*\|$/gm);
    const steps = [...rows].flatMap(([, stage = "", file = "", names = ""]) => {
      const [path] = codeIn(file);
      return path === undefined ? [] : [{ stage: stage.trim(), file: path, names: codeIn(names) }];
    });
    found.set(section.split("\n")[0] ?? "", steps);
  }
  return found;
}

/** Whether a file declares a function, a class or a method of that name. */
function declares(file: string, name: string): boolean {
  const source = readFileSync(join(ROOT, file), "utf8");
  const escaped = name.replace("$", String.raw`\$`);
  const pattern = `^(?:export )?(?:async )?(?:function\\*? |class )${escaped}\\b|^  (?:async )?\\*?${escaped}\\(`;
  return new RegExp(pattern, "m").test(source);
}

describe("the page about the way of a prompt", () => {
  for (const [title, steps] of ways())
    it(`names files and functions that exist: ${title}`, () => {
      assert.ok(steps.length >= 6, `${steps.length} steps`);
      const wrong = steps.flatMap(({ file, names }) => {
        if (!existsSync(join(ROOT, file))) return [file];
        return names.filter((name) => !declares(file, name)).map((name) => `${file}: ${name}`);
      });
      assert.deepEqual(wrong, []);
    });

  it("covers the embedded loop, a thread and the wire", () => {
    assert.equal(ways().size, 3);
  });

  it("shows every stage of the embedded loop in the order in which they run", () => {
    const [steps = []] = ways().values();
    const shown = steps.map(({ stage }) => stage).filter((stage) => stage !== "");
    assert.deepEqual(
      shown.filter((stage, index) => stage !== shown[index - 1]),
      STAGES,
    );
  });
});
