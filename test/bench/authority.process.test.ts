import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeRepository } from "../../bench/authority/repository.ts";
import type { BenchRow } from "../../bench/report.ts";
import { ROOT, runCommand } from "../../scripts/command.ts";
import { longTest } from "../runner/long-tests.ts";

const KINDS = [
  "first command of a process",
  "later command",
  "command that writes a file",
  "first turn of a process, one command",
  "later turn, one command",
  "first command of a process, model takes 400 ms",
  "first turn of a process, one command, model takes 400 ms",
];
const STARTS = [
  "start of `run`, offline, no compiled code",
  "start of `run`, offline, to its end",
  "start of `run`, a model's answer, to its end",
  "start of `serve`, to /health",
];

longTest("the short form of the cost of the walls has each figure of both sides", async () => {
  // The old side is this checkout too: a clone need not have the old commit.
  const { code, stdout, stderr } = await runCommand(
    process.execPath,
    ["bench/main.ts", "authority", "--quick", "--json"],
    { env: { ...process.env, PAGURUS_OLD_CHECKOUT: ROOT } },
  );
  assert.equal(code, 0, stderr);
  const { rows } = JSON.parse(stdout) as { rows: BenchRow[] };
  for (const row of rows) console.log(`${row.measure}: ${row.value} ${row.unit}, ${row.target}`);
  const commands = ["50", "500"].flatMap((size) => KINDS.map((kind) => `${size} files: ${kind}`));
  const expected = [...STARTS, ...commands].flatMap((title) => [title, `${title}, processor time`]);
  const measures = rows.map(({ measure }) => measure);
  assert.deepEqual(
    expected.filter((measure) => !measures.includes(measure)),
    [],
  );
  for (const { measure, value, peer, ratio, target } of rows)
    for (const figure of [value, peer?.value, ratio])
      assert.ok(Number.isFinite(figure) && target !== undefined, `${measure} has no figure`);
});

test("a repository of the benchmark has as many files as asked for, and the same each time", (t) => {
  const [one, other] = [0, 1].map(() => {
    const folder = mkdtempSync(join(tmpdir(), "pagurus-bench-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    makeRepository(folder, 300);
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length))
      .toSorted();
  });
  assert.equal(one?.length, 300);
  assert.deepEqual(one, other);
});
