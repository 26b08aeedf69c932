/** Tests of `migrate openclaw`: which home and files it uses, and the remaining steps. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { migrateOpenClaw } from "../../../packages/importers/src/openclaw/migrate-home.ts";
import { lcmFileOf } from "../../../packages/importers/src/openclaw/config/migrate-config.ts";
import { ClawHome, ClawLines } from "./openclaw-home.ts";
import { root, setting } from "./migrate-setting.ts";

test("lossless-claw's database is where its settings say, else where it was copied to", () => {
  const at = (config: unknown, env: Record<string, string> = {}, there = ""): string => {
    const { source, folder } = setting({ plugins: { entries: { "lossless-claw": { config } } } });
    if (there !== "") writeFileSync(join(folder, there), "");
    const { file, named } = lcmFileOf(source, folder, env);
    return `${file.replace(folder, "<home>")}${named ? "" : " by default"}`;
  };
  assert.equal(at({}), "<home>/lcm.db by default");
  assert.equal(at({ databasePath: "/data/lcm.db" }), "/data/lcm.db");
  assert.equal(at({ dbPath: "other.db" }), "<home>/other.db");
  assert.equal(at({}, { LCM_DATABASE_PATH: "/env/lcm.db" }), "/env/lcm.db");
  assert.equal(at({ databasePath: "/gone/kept.db" }, {}, "kept.db"), "<home>/kept.db");
  assert.equal(at({ databasePath: "C:\\Users\\me\\.openclaw\\lcm.db" }, {}, "lcm.db"), "<home>/lcm.db");
});

test("a home and a configuration under the names of before are found, the present ones first", async () => {
  const user = mkdtempSync(join(root, "user-"));
  const found = async (): Promise<string[]> => {
    const how = { cwd: user, home: join(user, "ours"), env: { HOME: user }, dryRun: true, overwrite: false };
    const { source, config } = await migrateOpenClaw(how);
    return [basename(source), basename(config.source), config.state];
  };
  const add = (folder: string, name: string): void => {
    mkdirSync(join(user, folder), { recursive: true });
    writeFileSync(join(user, folder, name), '{ logging: { level: "warn" } }');
  };
  add(".clawdbot", "clawdbot.json");
  assert.deepEqual(await found(), [".clawdbot", "clawdbot.json", "made"]);
  add(".openclaw", "clawdbot.json");
  assert.deepEqual(await found(), [".openclaw", "clawdbot.json", "made"]);
  add(".openclaw", "openclaw.json");
  assert.deepEqual(await found(), [".openclaw", "openclaw.json", "made"]);
});

test("agents with conversations that no configuration names are reported", async () => {
  const { folder, home } = setting({ agents: { list: [{ id: "Work" }] } });
  for (const id of ["main", "work", "old"]) {
    const claw = new ClawHome(folder);
    claw.file(id, `${id}.jsonl`, new ClawLines(id).user("Hello").rows);
  }
  for (const dryRun of [true, false]) {
    const how = { from: folder, cwd: folder, home, env: {}, dryRun, overwrite: false };
    const { notes } = await migrateOpenClaw(how);
    assert.equal(notes.length, 1);
    assert.match(
      notes[0] ?? "",
      /^The agent old has conversations or jobs and is not in agents\.list; put \{id: "old"\} into/,
    );
  }
});

test("a missing database of lossless-claw that its settings name is reported", async () => {
  const { folder, home } = setting({
    plugins: { entries: { "lossless-claw": { config: { databasePath: "/gone/lcm.db" } } } },
  });
  const { problems } = await migrateOpenClaw({
    from: folder,
    cwd: folder,
    home,
    env: {},
    dryRun: true,
    overwrite: false,
  });
  assert.match(problems.join(" "), /^There is no \/gone\/lcm\.db, which the settings of lossless-claw name/);
});
