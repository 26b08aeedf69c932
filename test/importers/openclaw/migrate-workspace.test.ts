import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { it } from "node:test";
import { valueAt } from "../../../packages/core/src/config/key-path.ts";
import { listOf, recordOf } from "../../../packages/core/src/data/record-fields.ts";
import { takeJobs, type MigratedJob } from "../../../packages/importers/src/openclaw/jobs/take-jobs.ts";
import { assertSessionKey } from "../../../packages/host/src/stores/files/keys.ts";
import { setting } from "./migrate-setting.ts";

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

it("skills of OpenClaw's workspaces are taken; its files about the agent are named (finding C11)", () => {
  const { folder, migrate, written } = setting({ agents: { defaults: { model: "openai/gpt-5.5" } } });
  write(join(folder, "workspace", "skills", "tide", "SKILL.md"), "---\nname: tide\n---\n");
  write(join(folder, "skills", "moon", "SKILL.md"), "---\nname: moon\n---\n");
  for (const name of ["SOUL.md", "IDENTITY.md", "USER.md", "AGENTS.md"])
    write(join(folder, "workspace", name), "words");
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
});

it("jobs of the file of earlier versions are read too, and a file that cannot be read is named", async () => {
  const { folder, home } = setting({});
  const jobs = [
    { id: "j1", schedule: { expr: "0 7 * * *", tz: "Europe/Vienna" }, payload: { text: "What's due?" } },
    { jobId: "j2", schedule: { everyMs: 1_800_000 }, payload: { message: "Sort the mail." } },
    { id: "j3", schedule: { kind: "at", atMs: 0 }, payload: { text: "Once." } },
    { id: "j4", schedule: {}, payload: { text: "Never." } },
    { id: "j5", schedule: { expr: "0 7 * * *" } },
    "no job",
  ];
  write(join(folder, "cron", "jobs.json"), JSON.stringify({ version: 1, jobs }));
  const options = { folder, home, config: {}, now: 1_000, dryRun: true };
  const taken = await takeJobs(options);
  assert.deepEqual(
    taken.jobs.map(({ sourceId, agentId, state, what }) => [sourceId, agentId, state, ...what]),
    [
      ["j1", "main", "taken"],
      ["j2", "main", "taken"],
      ["j3", "main", "left", "Not taken: its time, 1970-01-01T00:00:00.000Z, has passed."],
      [
        "j4",
        "main",
        "left",
        "Not taken: its schedule is not known here; pagurus jobs add creates a job with another one.",
      ],
      ["j5", "main", "left", "Not taken: it has no prompt; pagurus jobs add creates a job with one."],
    ],
  );
  assert.match(taken.problems.join(), /^The scheduled job without an id in \S+jobs\.json cannot be read/);
  write(join(folder, "cron", "jobs.json"), "{");
  assert.match(
    (await takeJobs(options)).problems.join(),
    /^The scheduled jobs in \S+jobs\.json cannot be read/,
  );
});

const DAILY = { schedule: { expr: "0 7 * * *", tz: "UTC" }, payload: { text: "What is due?" } };

const DEFAULTS: readonly [agents: object | undefined, id: string, as: string][] = [
  [
    { list: [{ id: "quay" }, { id: "main" }, { id: "Tide", default: true }] },
    "tide",
    "marked as default in a list",
  ],
  [{ entries: { main: {}, tide: { default: true } } }, "tide", "marked as default among entries"],
  [{ list: [{ id: "quay" }, { id: "Main" }] }, "main", "main of a list"],
  [{ entries: { quay: {}, main: {} } }, "main", "main of the entries"],
  [{ list: [{ name: "no id" }, { id: "quay" }, { id: "tide" }] }, "quay", "the first of a list without main"],
  [{ entries: { quay: {}, tide: {} } }, "quay", "the first of the entries without main"],
  [undefined, "main", "main of a configuration without agents"],
];
for (const [agents, id, as] of DEFAULTS)
  it(`OpenClaw's default agent is the one that is ${as}: it gets jobs without an agent and the first workspace`, async () => {
    const { folder, home, migrate, written } = setting({ agents, logging: { level: "warn" } });
    write(join(folder, "cron", "jobs.json"), JSON.stringify({ jobs: [{ id: "j1", ...DAILY }] }));
    mkdirSync(join(folder, "workspace"));
    const { jobs } = await takeJobs({ folder, home, config: { agents }, now: 1_000, dryRun: true });
    assert.deepEqual(
      jobs.map(({ agentId }) => agentId),
      [id],
    );
    migrate();
    const owners = listOf(valueAt(written(), ["agents", "list"]))
      .map(recordOf)
      .flatMap((each) => (each["workspace"] === undefined ? [] : String(each["id"]).toLowerCase()));
    const common = valueAt(written(), ["agents", "defaults", "workspace"]);
    assert.deepEqual([owners, common], agents ? [[id], undefined] : [[], join(folder, "workspace")]);
  });

/** Takes the jobs of the folder with these ids; `kept`: the jobs of this host. */
function taking(ids: readonly string[], kept: Map<string, string>, job: object = {}) {
  const { folder, home } = setting({});
  const stored = ids.map((id) => ({ id, ...DAILY, ...job }));
  write(join(folder, "cron", "jobs.json"), JSON.stringify({ jobs: stored }));
  const take = async (): Promise<MigratedJob[]> => {
    const { jobs } = await takeJobs({
      folder,
      home,
      config: {},
      now: 1_000,
      dryRun: false,
      withJobs: (work) =>
        work({
          has: async (id) => kept.has(id),
          add: async ({ id, sessionKey }) => void kept.set(id, sessionKey),
        }),
    });
    return jobs;
  };
  return { home, take };
}

it("jobs whose names are in another script, or differ in signs only, have ids and sessions of their own, the same in each migration", async () => {
  const marked = `mail-1-${hash("sha1", "mail 1", "hex").slice(0, 8)}`;
  const ids = ["潮の時刻", "月の出", "mail/1", "mail 1", "mail-1", marked, "x".repeat(400), "x".repeat(401)];
  const kept = new Map<string, string>();
  const { take } = taking(ids, kept, { sessionTarget: "isolated" });
  const first = await take();
  assert.deepEqual(
    first.map(({ sourceId, state }) => [sourceId, state]),
    ids.map((id) => [id, "taken"]),
  );
  assert.equal(kept.size, ids.length);
  assert.equal(new Set(kept.values()).size, ids.length, [...kept.values()].join("\n"));
  for (const [id, key] of kept) {
    assert.match(id, /^openclaw-[\w.-]+$/);
    assertSessionKey(key);
  }
  assert.equal(kept.get("openclaw-mail-1"), "cron-mail-1", "an id that needs no change has no hash");
  assert.deepEqual(
    (await take()).map(({ id, state }) => [id, state]),
    first.map(({ id }) => [id, "here"]),
  );
});

it("a migrated job that its owner removed is not created again, until its id is taken out of the list", async () => {
  const kept = new Map<string, string>();
  const { home, take } = taking(["tide", "moon"], kept);
  await take();
  kept.delete("openclaw-tide");
  const states = async () => (await take()).map(({ sourceId, state }) => [sourceId, state]);
  assert.deepEqual(await states(), [
    ["tide", "removed"],
    ["moon", "here"],
  ]);
  const list = join(home, "openclaw-jobs.json");
  assert.match(
    (await take())[0]?.what.join() ?? "",
    /removed here; without its id tide in \S+openclaw-jobs\.json/,
  );
  write(list, "{");
  assert.deepEqual(await states(), [
    ["tide", "failed"],
    ["moon", "failed"],
  ]);
  write(list, JSON.stringify({ jobs: ["moon"] }));
  assert.deepEqual(await states(), [
    ["tide", "taken"],
    ["moon", "here"],
  ]);
});
