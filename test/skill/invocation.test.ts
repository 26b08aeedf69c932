import assert from "node:assert/strict";
import { test } from "node:test";
import { commandReport, expandCommand } from "../../packages/host/src/skill/custom-commands.ts";
import { skillReport, turnSkills } from "../../packages/host/src/skill/section.ts";
import { SkillPlace } from "./place.ts";

function skill(place: SkillPlace, name: string, keys: string): string {
  return place.write(
    `work/.claude/skills/${name}/SKILL.md`,
    `---\nname: ${name}\ndescription: Does ${name}.\n${keys}\n---\n# ${name}\n`,
  );
}

test("a skill that turns model invocation off is for the person alone, as a command", (t) => {
  const place = new SkillPlace(t);
  const path = skill(place, "deploy", "disable-model-invocation: true");
  skill(place, "kept", "disable-model-invocation: false");
  const search = { cwd: place.cwd, home: place.home, trusted: true };
  const { section, folders } = turnSkills(search);
  assert.match(section, /- kept: /);
  assert.doesNotMatch(section, /deploy/);
  assert.ok(
    folders.some((folder) => folder.endsWith("deploy")),
    "its files can be read",
  );
  const { skills } = skillReport(search);
  assert.deepEqual(
    skills.map(({ name, state, reason }) => [name, state, reason]),
    [
      [
        "deploy",
        "manual",
        "Only you start it, with /deploy: its front matter has disable-model-invocation: true.",
      ],
      ["kept", "offered", undefined],
    ],
  );
  assert.deepEqual(
    commandReport(search).commands.map(({ name, state }) => [name, state]),
    [["deploy", "offered"]],
  );
  assert.equal(
    expandCommand(search, "deploy", "staging")?.prompt,
    `Use the skill deploy: read its file ${path} before you start, and follow it.\n\nARGUMENTS: staging`,
  );
});

test("a skill that is not user-invocable either is no command", (t) => {
  const place = new SkillPlace(t);
  skill(place, "deploy", "disable-model-invocation: true\nuser-invocable: false");
  skill(place, "kept", "user-invocable: false");
  const search = { cwd: place.cwd, home: place.home, trusted: true };
  assert.deepEqual(
    skillReport(search).skills.map(({ name, state }) => [name, state]),
    [
      ["deploy", "disabled"],
      ["kept", "offered"],
    ],
  );
  assert.deepEqual(commandReport(search).commands, []);
});

test("a command file takes precedence over a skill of its name", (t) => {
  const place = new SkillPlace(t);
  skill(place, "deploy", "disable-model-invocation: yes");
  place.write("work/.claude/commands/deploy.md", "Deploy it.");
  const search = { cwd: place.cwd, home: place.home, trusted: true };
  assert.equal(expandCommand(search, "deploy", "")?.prompt, "Deploy it.");
  assert.deepEqual(
    commandReport(search).commands.map(({ state }) => state),
    ["offered", "shadowed"],
  );
});

test("Codex's policy against implicit invocation means the same", (t) => {
  const place = new SkillPlace(t);
  skill(place, "ship", "license: MIT");
  place.write(
    "work/.claude/skills/ship/agents/openai.yaml",
    "interface:\n  display_name: Ship\npolicy:\n  allow_implicit_invocation: false\n",
  );
  const { skills } = skillReport({ cwd: place.cwd, home: place.home, trusted: true });
  assert.deepEqual([skills[0]?.state, skills[0]?.notes], ["manual", []]);
});

test("keys without effect are named, also those with lists and maps", (t) => {
  const place = new SkillPlace(t);
  skill(place, "review", "allowed-tools:\n  - Bash(git:*)\n  - Read\nmodel: opus\ncontext: fork");
  const { skills } = skillReport({ cwd: place.cwd, home: place.home, trusted: true });
  assert.deepEqual(skills[0]?.notes, [
    "Its allowed-tools has no effect: the permission rules decide.",
    "Its model has no effect: the turn's model is used.",
    "Its context has no effect: the model reads it in the conversation itself.",
  ]);
});
