import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../../scripts/command.ts";
import { PROOFS } from "../../scripts/prove-lines.ts";
import { WALL_FINDINGS } from "../../scripts/wall-findings.ts";

test("each finding about walls and channels has a test with such a title, and every number is there", () => {
  const wanted = { 1: 3, 2: 3, 3: 1, 4: 5, 5: 7, 6: 2, 7: 1, 8: 7 };
  const walls = Object.entries(wanted).flatMap(([section, count]) =>
    Array.from({ length: count }, (_, at) => `w${section}.${at + 1}`),
  );
  const channels = Array.from({ length: 16 }, (_, at) => `c${at + 1}`);
  assert.deepEqual(
    WALL_FINDINGS.map(({ id }) => id),
    [...walls, ...channels],
  );
  for (const { id, tests } of WALL_FINDINGS)
    for (const [file, title] of tests) {
      const path = join(ROOT, file);
      assert.ok(existsSync(path), `${id}: ${file}`);
      assert.ok(readFileSync(path, "utf8").includes(title), `${id}: ${file} has no "${title}"`);
    }
});

test("each finding about walls and channels has a test outside of the real servers, or one that a line of npm run prove runs", () => {
  const steps = Object.values(PROOFS).flatMap((proof) => proof.steps);
  const proved = steps.flatMap(({ args }) => (args[0] === "scripts/test.ts" ? args.slice(1) : []));
  for (const { id, tests } of WALL_FINDINGS)
    assert.ok(
      tests.some(([file]) => !file.startsWith("test/real/") || proved.some((part) => file.includes(part))),
      id,
    );
});
