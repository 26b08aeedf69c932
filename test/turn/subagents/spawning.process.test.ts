/** Processes that are killed in the middle of a spawn, and that spawn at the same time. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { textOf } from "../../stores/files/fixtures.ts";
import { Setting } from "./setting.ts";
import { firstOf, longTest } from "../../runner/long-tests.ts";

const CHILD = join(import.meta.dirname, "spawning.child.ts");

function folder(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), "pagurus-subagents-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

/** Starts a process and resolves with its first line. */
async function start(root: string, point: string): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(process.execPath, [CHILD, root, point], { stdio: ["ignore", "pipe", "inherit"] });
  const firstLine = await Promise.race([
    once(child.stdout, "data").then(([data]) => String(data)),
    once(child, "exit").then(() => "ended"),
  ]);
  return { child, line: firstLine.trim() };
}

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

for (const point of firstOf(["created", "tell", "prepare", "run"], 2)) {
  test(`a process killed at "${point}" leaves a child that the next one ends and reports once`, async (t) => {
    const root = folder(t);
    const { child, line } = await start(root, point);
    assert.equal(line, "here");
    await kill(child);
    const after = new Setting(t, {}, root);
    await after.subagents.sweep();
    await after.subagents.sweep();
    const reason = point === "tell" ? "completed" : "swept";
    assert.deepEqual(after.ended, [{ childSessionKey: "main/sub-1", reason }]);
    const ran = point === "run" || point === "tell";
    assert.equal(after.store.find("main/sub-1") !== undefined, ran, "what never ran is not there");
    const results = (await after.subagents.results("main")).map(({ message }) => textOf(message));
    assert.equal(results.length, ran ? 1 : 0);
    if (point === "tell") assert.match(results.join(), /\ndone\n/);
    assert.equal((await after.subagents.spawn({ task: "next" })).childSessionKey, "main/sub-2");
  });
}

longTest("two processes that spawn at once start as many children as one session may have", async (t) => {
  const root = folder(t);
  const started = await Promise.all([start(root, "race"), start(root, "race")]);
  const counts = started.map(({ line }) => Number(line.replace("started ", "")));
  assert.equal((counts[0] ?? 0) + (counts[1] ?? 0), 4, counts.join());
  const reading = new Setting(t, {}, root);
  assert.equal(reading.subagents.facts("main").length, 4);
  for (const { child } of started) await kill(child);
  assert.ok(reading.subagents.facts("main").every(({ state }) => state === "swept"));
});
