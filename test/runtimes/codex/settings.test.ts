import assert from "node:assert/strict";
import { test } from "node:test";
import { createCodexHarness } from "../../../packages/runtimes/src/codex/codex-harness.ts";

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
