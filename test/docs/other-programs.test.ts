import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { isCurrent } from "../../scripts/other-programs.ts";

const PAGE = readFileSync(join(ROOT, "docs/guides/other-programs.md"), "utf8");

test("the page about files and keys of other programs has the tables of the code", () => {
  assert.ok(isCurrent(PAGE), "run node scripts/other-programs.ts --write and oxfmt");
  assert.ok(!isCurrent(PAGE.replace("AGENTS.override.md", "AGENTS.other.md")));
});
