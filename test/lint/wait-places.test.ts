import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { checkChildInputs, checkHooks, checkWaits, waitsIn } from "../../scripts/wait-places.ts";

const WAIT = 'import { setTimeout as pause } from "node:timers/promises";\nawait pause(300);\n';

function rootWith(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "pagurus-waits-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, "test/real"), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, "test", name), text);
  return root;
}

describe("the rule against waits in unit tests", () => {
  for (const [source, what] of [
    [WAIT, "imports a sleep"],
    ['import { setImmediate, setTimeout } from "node:timers/promises";', "imports a sleep"],
    ["await new Promise((resolve) => setTimeout(resolve, 50));", "sets a timer"],
    ["setInterval(look, 20);", "sets a timer"],
    ['t.mock.timers.enable({ apis: ["setTimeout"] });', "mocks timers"],
    ["assert.ok(performance.now() - began < 1_000);", "limits elapsed time"],
  ] as const)
    it(`names a line that ${what}: ${source.split("\n")[0]}`, () => {
      assert.deepEqual(waitsIn(source)[0], { line: 1, what });
    });

  it("lets a test wait for a condition, a turn of the loop, or a clock that it moves", () => {
    const source = `import { setImmediate as turnOfLoop } from "node:timers/promises";
      // setTimeout(resolve, 50) would be a sleep.
      await until(() => sent.length === 1);
      clock.move(30_000);
      assert.ok(at - Date.now() < 60_000);`;
    assert.deepEqual(waitsIn(source), []);
  });

  it("fails for a place in a unit test, and for no test of processes or of real programs", (t) => {
    const root = rootWith(t, { "a.test.ts": WAIT, "b.process.test.ts": WAIT, "real/c.test.ts": WAIT });
    assert.deepEqual(
      checkWaits(root, {}).map((problem) => problem.split(";")[0]),
      ["test/a.test.ts:1: imports a sleep"],
    );
  });

  it("asks for a smaller number when a listed file has fewer places", (t) => {
    const root = rootWith(t, { "a.test.ts": WAIT });
    assert.deepEqual(checkWaits(root, { "test/a.test.ts": 1 }), []);
    assert.deepEqual(checkWaits(root, { "test/a.test.ts": 2 }), [
      "test/a.test.ts: 1 waits; write that into scripts/wait-places.ts",
    ]);
  });
});

describe("the rule for the standard input of processes", () => {
  for (const line of [
    'child.stdin.end("words");',
    'this.#child?.stdin?.write("words");',
    "Writable.toWeb(running.child.stdin);",
    'started()!.stdin.on("error", ignore);',
  ])
    it(`names a place that has no listener for a process that has ended: ${line}`, (t) => {
      const root = rootWith(t, { "a.process.test.ts": `\n${line}\n` });
      const [problem = "", ...others] = checkChildInputs(root);
      assert.match(problem, /^test\/a\.process\.test\.ts:2: .*inputOf\(child\)/);
      assert.deepEqual(others, []);
    });

  it("lets a program read its own, and a test type into a command in its own process", (t) => {
    const source = `import { inputOf } from "../runner/child-input.ts";
      // child.stdin.end() would throw.
      inputOf(child).end("words");
      process.stdin.resume();
      cli.stdin = Readable.from(["words"]);
      (cli.stdin as PassThrough).write("words");`;
    assert.deepEqual(checkChildInputs(rootWith(t, { "a.test.ts": source })), []);
  });
});

it("a hook outside of a describe is named in a test of processes, whose process runs other files too", (t) => {
  const outside = 'afterEach(() => stop());\ndescribe("a host", () => {});\n';
  const inside = 'describe("a host", () => {\n  afterEach(() => stop());\n});\n';
  const root = rootWith(t, {
    "a.process.test.ts": outside,
    "b.process.test.ts": inside,
    "c.test.ts": outside,
  });
  assert.deepEqual(
    checkHooks(root).map((problem) => problem.split(";")[0]),
    ["test/a.process.test.ts:1: a hook of all files of the process"],
  );
});
