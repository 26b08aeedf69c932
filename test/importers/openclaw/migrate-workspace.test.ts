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
  assert.match(
    notes,
    /^The scheduled job "Morning" is not taken: it has no prompt; pagurus jobs add creates one/m,
  );
});

it("each scheduled job is named with the command that creates it", () => {
  const { folder, migrate } = setting({ cron: { enabled: true } });
  const jobs = [
    {
      id: "j1",
      name: "Morning",
      schedule: { kind: "cron", expr: "0 7 * * *", tz: "Europe/Vienna" },
      sessionTarget: "main",
      payload: { kind: "systemEvent", text: "What's due?" },
    },
    {
      id: "j2",
      agentId: "work",
      enabled: false,
      schedule: { kind: "every", everyMs: 1_800_000 },
      sessionTarget: "isolated",
      payload: { kind: "agentTurn", message: "Sort the mail." },
    },
    { id: "j3", schedule: { kind: "at", atMs: 0 }, payload: { text: "Once." } },
    { id: "j4", schedule: {}, payload: { text: "Never." } },
  ];
  write(join(folder, "cron", "jobs.json"), JSON.stringify({ version: 1, jobs }));
  const report = migrate();
  assert.deepEqual(
    report.notes.filter((note) => note.startsWith("The scheduled job")),
    [
      `The scheduled job "Morning" is not taken by itself; this creates it: pagurus jobs add '0 7 * * *' --tz Europe/Vienna --session agent:main:main 'What'\\''s due?'`,
      `The scheduled job "j2" is not taken by itself; this creates it: pagurus jobs add --every 1800s --session cron-j2 --agent work 'Sort the mail.' It is switched off there.`,
      `The scheduled job "j3" is not taken by itself; this creates it: pagurus jobs add --at 1970-01-01T00:00:00.000Z --session agent:main:main Once.`,
      `The scheduled job "j4" is not taken: its schedule is not known here; pagurus jobs add creates one like it.`,
    ],
  );
  const reasons = report.notTaken.map(({ path, why }) => `${path}: ${why}`).join("\n");
  assert.match(
    reasons,
    /^cron\S*: the scheduler is a part of pagurus serve; pagurus jobs add creates jobs$/m,
  );
});
