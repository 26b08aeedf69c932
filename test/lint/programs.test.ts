import assert from "node:assert/strict";
import { test } from "node:test";
import { programProblems } from "../../scripts/check-house.ts";

test("only one file starts processes, and only one searches PATH (finding 4.1)", () => {
  const refused = [
    'import { spawn } from "node:child_process";',
    "import * as c from 'child_process';",
    'const { execFile } = await import("node:child_process");',
    "const { spawn } = require(`child_process`);",
    'import { delimiter, join } from "node:path";',
    'for (const folder of (env["PATH"] ?? "").split(":")) look(folder);',
    "process.env.PATH.split(path.delimiter)",
  ];
  for (const text of refused)
    assert.notDeepEqual(programProblems("packages/core/src/model/any.ts", text), [], text);
  for (const text of [
    'import { startProgram } from "../platform/start-program.ts";',
    'const path = env["PATH"];',
  ])
    assert.deepEqual(programProblems("packages/core/src/model/any.ts", text), [], text);
  assert.deepEqual(
    programProblems(
      "packages/core/src/platform/start-program.ts",
      'import { spawn } from "node:child_process";',
    ),
    [],
  );
});
