/** What the board says of old work. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { HostHealth } from "../../packages/server/src/board/host-health.ts";

const home = mkdtempSync(join(tmpdir(), "pagurus-test-"));
after(() => rmSync(home, { recursive: true, force: true }));

const health = new HostHealth({ facts: { version: "1", home, startedAt: "" }, env: {} });

async function problems(minutes: number, isAsking: boolean): Promise<string> {
  const postedAt = Date.now() - minutes * 60_000;
  const found = (await health.report({ postedAt, session: "crane", isAsking })).problems;
  return found.filter((each) => each.includes("oldest work")).join(" ");
}

test("old work that asks for a permission waits for an answer, and is not to be stopped", async () => {
  const text = await problems(90, true);
  assert.match(text, /session crane, waits for an answer .* allow or deny it under Questions\.$/);
  assert.doesNotMatch(text, /stop/);
});

test("old work without a question may hang", async () => {
  assert.match(await problems(90, false), /session crane, has been open .* stop it if it hangs\.$/);
});

test("new work is no problem", async () => {
  assert.equal(await problems(1, true), "");
});
