/** The program of the configured ACP agent, as `pagurus runtimes` and the doctor report it. */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { NativeProgram } from "../../../packages/contract/src/harness/native.ts";
import { versionPassed } from "../../../packages/core/src/platform/version-notes.ts";
import { describeAgent } from "../../../packages/runtimes/src/acp/acp-program.ts";
import { configuredAgent } from "../../../packages/runtimes/src/acp/agents.ts";

describe("the program of an ACP agent", () => {
  let root: string;
  let command: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "pagurus-test-"));
    command = join(root, "codex-acp");
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function printing(line: string): Promise<NativeProgram> {
    writeFileSync(command, `#!/bin/sh\n${line}\n`);
    chmodSync(command, 0o755);
    return describeAgent({ agents: { codex: { command } }, env: process.env, home: root }, undefined);
  }

  it("is reported with its version, and with a note beyond the tried ones until it passed", async () => {
    const { drift, version } = await printing('echo "codex-acp 99.1.2"');
    assert.equal(version, "99.1.2");
    assert.match(drift ?? "", /codex-acp 99\.1\.2 runs.*pagurus runtimes test codex-acp/);
    versionPassed(root, "acp", { program: command, version });
    assert.equal((await printing('echo "codex-acp 99.1.2"')).drift, undefined);
  });

  it("has an unknown version and no note when it prints none", async () => {
    const { drift, version } = await printing("exit 1");
    assert.deepEqual([version, drift], ["unknown", undefined]);
  });

  it("is the configured agent or the only one, and none when turns choose", () => {
    assert.equal(configuredAgent({ agents: { codex: {} } }), "codex");
    assert.equal(configuredAgent({ agents: { codex: {}, claude: {} }, agentId: "claude" }), "claude");
    assert.equal(configuredAgent({ agents: { codex: {}, claude: {} } }), undefined);
  });
});
