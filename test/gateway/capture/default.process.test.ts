/** Captures of a home that configures nothing about them, and of one that bounds them. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { capturesDir } from "../../../packages/core/src/config/captures.ts";
import { captureNumbers } from "../../../packages/gateway/src/capture/read-capture.ts";
import { startServer } from "../../servers/server.ts";
import { makeSetting, modelConfig, start, type Setting } from "../../turn/setting.ts";

const MAX_BYTES = 30_000;

function bytesIn(home: string): number {
  const root = capturesDir(home);
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return files.reduce((sum, { name, parentPath }) => sum + statSync(join(parentPath, name)).size, 0);
}

async function turns(setting: Setting, number: number): Promise<void> {
  for (let at = 1; at <= number; at += 1) {
    const { code, stderr } = await start(setting, [
      "run",
      "--session",
      `sea-${at}`,
      `Prompt ${at}: ${"tide ".repeat(1_200)}`,
    ]).finished;
    assert.equal(code, 0, stderr);
  }
}

test("requests are captured by default, the oldest make way within the bound, and false keeps none", async (t) => {
  const model = await startServer({ protocol: "openai-completions", script: () => ({ text: "At ten." }) });
  t.after(() => model.close());
  const config = (capture: unknown): Record<string, unknown> =>
    modelConfig("openai-completions", model.url, {}, capture === undefined ? {} : { gateway: { capture } });
  const setting = makeSetting(config(undefined));
  t.after(() => setting.remove());
  const { home } = setting;
  const numbers = (key: string): readonly number[] =>
    captureNumbers({ home, agentId: "main", sessionKey: key });

  await turns(setting, 1);
  assert.deepEqual(numbers("sea-1"), [1]);

  writeFileSync(join(home, "pagurus.json"), JSON.stringify(config({ maxBytes: MAX_BYTES })));
  await turns(setting, 6);
  assert.ok(bytesIn(home) <= MAX_BYTES, `${bytesIn(home)} bytes`);
  assert.deepEqual(numbers("sea-1"), []);
  assert.deepEqual(numbers("sea-6"), [1]);

  writeFileSync(join(home, "pagurus.json"), JSON.stringify(config(false)));
  const before = bytesIn(home);
  await turns(setting, 1);
  assert.equal(bytesIn(home), before);
  assert.ok(existsSync(capturesDir(home)));
});
