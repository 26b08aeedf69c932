/** Whether a chat prints lines or has the full terminal. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Cli } from "../../packages/cli/src/cli.ts";
import { asksForLines } from "../../packages/cli/src/chat/view-choice.ts";
import { turnSettings } from "../../packages/cli/src/config/cli-settings.ts";

test("the setting chat.plain asks for lines", (t) => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-plain-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const cli = { env: { PAGURUS_HOME: home } } as unknown as Cli;
  assert.equal(turnSettings(cli).plain, false);
  for (const plain of [true, false]) {
    writeFileSync(join(home, "pagurus.json"), JSON.stringify({ chat: { plain } }), { mode: 0o600 });
    const settings = turnSettings(cli);
    assert.deepEqual([settings.plain, settings.warnings], [plain, []]);
  }
});

test("PAGURUS_PLAIN counts more than the setting", () => {
  const asked = (value: string | undefined, setting: boolean): boolean =>
    asksForLines({ PAGURUS_PLAIN: value }, setting);
  assert.deepEqual([asked(undefined, false), asked(undefined, true), asked("", true)], [false, true, true]);
  assert.deepEqual([asked("1", false), asked("0", true), asked("0", false)], [true, false, false]);
});
