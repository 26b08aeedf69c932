import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { it } from "node:test";
import { valueAt } from "../../../src/config/key-path.ts";
import { setting } from "./migrate-setting.ts";

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

it("skills of OpenClaw's workspaces are taken; its files about the agent and its jobs are named (finding C11)", () => {
  const { folder, migrate, written } = setting({ agents: { defaults: { model: "openai/gpt-5.5" } } });
  write(join(folder, "workspace", "skills", "tide", "SKILL.md"), "---\nname: tide\n---\n");
  write(join(folder, "skills", "moon", "SKILL.md"), "---\nname: moon\n---\n");
  for (const name of ["SOUL.md", "IDENTITY.md", "USER.md", "AGENTS.md"])
    write(join(folder, "workspace", name), "words");
  const job = {
    id: "j1",
    name: "Morning",
    schedule: { kind: "cron", expr: "0 7 * * *", tz: "Europe/Vienna" },
  };
  write(join(folder, "cron", "jobs.json"), JSON.stringify({ version: 1, jobs: [job] }));
  const report = migrate();
  assert.deepEqual(valueAt(written(), ["skills", "paths"]), [
    join(folder, "workspace", "skills"),
    join(folder, "skills"),
  ]);
  const notes = report.notes.join("\n");
  assert.match(
    notes,
    /^SOUL\.md, IDENTITY\.md, USER\.md of \S+workspace are not read here; put .* AGENTS\.md/m,
  );
  assert.match(notes, /^The scheduled job "Morning" \(0 7 \* \* \* Europe\/Vienna\) is not taken: /m);
});
