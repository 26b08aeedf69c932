import assert from "node:assert/strict";
import { test } from "node:test";
import { createCodexHarness, readCodexSettings } from "../../../packages/runtimes/src/codex/codex-harness.ts";

test("set values are accepted, and an empty configuration has no settings", () => {
  assert.deepEqual(readCodexSettings(undefined), {});
  assert.deepEqual(readCodexSettings({ context: undefined, other: 1 }), {});
  assert.deepEqual(readCodexSettings({ command: "codex", sandbox: "read-only", context: "projection" }), {
    command: "codex",
    sandbox: "read-only",
    seam: "projection",
  });
  assert.deepEqual(readCodexSettings({ context: "wire", compaction: "own" }), {
    seam: "wire",
    compaction: "own",
  });
});

for (const [config, sentence] of [
  [
    { sandbox: "readonly" },
    'config.sandbox is "readonly"; give one of: read-only, workspace-write, danger-full-access.',
  ],
  [{ context: "http" }, 'config.context is "http"; give one of: thread, projection, wire.'],
  [{ compaction: true }, "config.compaction is of type boolean; give one of: none, own."],
  [{ command: 3 }, "config.command is of type number; give one of: a path, a name."],
] as const)
  test(`${JSON.stringify(config)} is refused with the valid values`, () => {
    assert.throws(() => readCodexSettings(config), {
      code: "config_invalid",
      message: `plugins.entries.codex.${sentence}`,
    });
  });

test("a context that is sent as text is declared so: another seam, and no epochs in a thread", () => {
  const unused = (): never => assert.fail("A declaration asks for nothing.");
  const made = (seam?: "thread" | "projection" | "wire") =>
    createCodexHarness({
      env: {},
      home: "",
      endpoint: unused,
      log: { debug: unused, warn: unused },
      trusts: unused,
      seam,
    });
  const epochs = "thread-bootstrap-projection";
  for (const [harness, seam, has] of [
    [made(), "thread", true],
    [made("thread"), "thread", true],
    [made("projection"), "projection", false],
    [made("wire"), "wire", true],
  ] as const)
    assert.deepEqual([harness.seam, harness.capabilities.includes(epochs)], [seam, has]);
});
