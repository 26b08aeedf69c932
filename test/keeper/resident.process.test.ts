import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runningKeeper } from "../../packages/keeper/src/keeper-place.ts";
import { Resident } from "../cli/resident/resident-setting.ts";
import { until } from "../runner/until.ts";
import { claudeLine, SESSION } from "./kept-home.ts";

test("the resident host keeps what agents write, and its keeper ends with it", async () => {
  const place = await Resident.make({}, { keeper: { enabled: true } });
  try {
    const { home, env } = place.setting;
    const folder = join(env["HOME"] ?? "", ".claude/projects/-work");
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${SESSION}.jsonl`);
    writeFileSync(file, claudeLine(0, "kept by the resident host"));
    const pid = await place.warm();
    await until(async () => (await place.command("keep", "search", "resident host")).code === 0);
    rmSync(file);
    await until(async () => (await place.command("keep", "status")).stdout.includes(`removed ${file}`));
    assert.notEqual(runningKeeper(home)?.pid, undefined);
    process.kill(pid, "SIGTERM");
    await until(() => runningKeeper(home) === undefined, "the keeper did not end");
  } finally {
    await place.close();
  }
});
