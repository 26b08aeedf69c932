import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fakeCli, command } from "../cli/fake-cli.ts";
import { FakePagurus } from "../cli/fake-pagurus.ts";
import { execute } from "../../packages/cli/src/cli-program.ts";

test("pagurus acp on a terminal prints its purpose", async () => {
  const { code, err } = await command(["acp"]);
  assert.equal(code, 2);
  assert.match(
    err,
    /this is a terminal; set it as an agent in your editor, or use pagurus chat\. \[usage_invalid\]/,
  );
});

test("pagurus acp keeps a plugin's output off its standard output, and closes the host", async () => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-acp-"));
  const { log, error } = console;
  const printed: unknown[] = [];
  console.error = (...words: unknown[]) => void printed.push(...words);
  try {
    const pagurus = new FakePagurus();
    const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };
    const cli = fakeCli({
      input: `${JSON.stringify(initialize)}\n`,
      env: { PAGURUS_HOME: root },
      open: () => {
        console.log("a plugin talks");
        return Promise.resolve(pagurus);
      },
    });
    assert.equal(await execute(["acp"], cli), 0);
    assert.deepEqual([printed, pagurus.closed], [["a plugin talks"], 1]);
    assert.doesNotMatch(cli.out(), /plugin talks/);
  } finally {
    console.error = error;
    rmSync(root, { recursive: true, force: true });
  }
  assert.equal(console.log, log);
});

test("pagurus acp exits even if its output is not read", async () => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-acp-"));
  try {
    const pagurus = new FakePagurus();
    const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };
    const cli = fakeCli({ input: `${JSON.stringify(initialize)}\n`, env: { PAGURUS_HOME: root }, pagurus });
    // A full pipe: no write ever completes.
    cli.stdout = { write: () => false };
    await execute(["acp"], cli);
    assert.deepEqual([cli.exits, pagurus.closed], [[0], 1]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
