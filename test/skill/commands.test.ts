import assert from "node:assert/strict";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isCommand } from "../../packages/host/src/command/host-command.ts";
import { commandReport, expandCommand } from "../../packages/host/src/skill/custom-commands.ts";
import { SkillPlace } from "./place.ts";

test("inserted arguments are not expanded again", (t) => {
  const place = new SkillPlace(t);
  const cases: [body: string, args: string, prompt: string][] = [
    ["Review $ARGUMENTS now.", "a  b $1", "Review a  b $1 now."],
    ["$1 then $2, $3.", 'one "two words"', "one then two words, ."],
    ["$1", "it's fine", "it's"],
    ["$1|$2|$3", "don't take 'Bob and' Jim's", "don't|take|Bob and"],
    ["$1|$2|$3", `a\nb --x="c\nd" 'e "f'`, `a|b|--x=c\nd`],
    [
      "costs $10 and \\$1 and $0 and $ARGUMENTSX",
      "x",
      "costs $10 and $1 and $0 and $ARGUMENTSX\n\nARGUMENTS: x",
    ],
    ["Nothing to fill.", "", "Nothing to fill."],
    ["Nothing to fill.", "but said", "Nothing to fill.\n\nARGUMENTS: but said"],
    ["$&$1", "$&", "$&$&"],
  ];
  for (const [body, args, prompt] of cases) {
    place.write("home/commands/c.md", body);
    assert.equal(expandCommand(place, "c", args)?.prompt, prompt, body);
  }
});

test("files are found in order of precedence; a subfolder is part of the name", (t) => {
  const place = new SkillPlace(t);
  const front = "---\ndescription: Ours\nargument-hint: [file] [how]\nmodel: test/small\n---\nOurs.";
  place.write("work/.pagurus/commands/review.md", front);
  place.write("work/.claude/commands/Review.md", "Theirs.");
  place.write("work/.claude/commands/git/fix/Commit.md", "# Commit\n\nCommit it.");
  place.write("home/commands/mine.md", "Mine.");
  place.write("home/commands/notes.txt", "No command.");
  const { commands, problems } = commandReport(place);
  assert.deepEqual(
    commands.map(({ name, state, description, argumentHint, model }) => [
      name,
      state,
      description,
      argumentHint,
      model,
    ]),
    [
      ["review", "offered", "Ours", "[file] [how]", "test/small"],
      ["review", "shadowed", "Theirs.", "", undefined],
      ["git:fix:commit", "offered", "Commit", "", undefined],
      ["mine", "offered", "Mine.", "", undefined],
    ],
  );
  assert.deepEqual(problems, []);
  assert.match(
    commands[1]?.reason ?? "",
    /\.pagurus\/commands\/review\.md has the same name and takes precedence/,
  );
  assert.deepEqual(expandCommand(place, "REVIEW", ""), { prompt: "Ours.", model: "test/small" });
  assert.equal(expandCommand(place, "git:fix:commit", "")?.prompt, "# Commit\n\nCommit it.");
  assert.equal(expandCommand(place, "nothing", ""), undefined);
});

test("parts without effect and unusable files are reported", (t) => {
  const place = new SkillPlace(t);
  place.write(
    "work/.claude/commands/a.md",
    "---\nmodel: sonnet\nallowed-tools: Bash\n---\nSee !`git status`.",
  );
  place.write("work/.claude/commands/b.md", "---\nnope\n---\nx");
  place.write("work/.claude/commands/c.md", " \n");
  place.write("work/.claude/commands/d d.md", "x");
  place.write("work/.claude/commands/e.md", "x".repeat(65_537));
  symlinkSync(place.write("secret.md", "key"), join(place.cwd, ".claude/commands/f.md"));
  for (let n = 100; n < 310; n++) place.write(`home/commands/n${n}.md`, "x");
  const { commands, problems } = commandReport(place);
  const [a, ...broken] = commands.filter(({ path }) => path.startsWith(place.cwd));
  assert.equal(a?.notes.length, 3);
  assert.equal(a?.model, undefined);
  assert.equal(expandCommand(place, "a", "")?.prompt, "See !`git status`.");
  const reasons = [
    /line 2 .* is not `key: value`/,
    /contains no prompt/,
    /letters, digits/,
    /65537 bytes/,
    /leads out of/,
  ];
  for (const [index, pattern] of reasons.entries()) assert.match(broken[index]?.reason ?? "", pattern);
  assert.equal(expandCommand(place, "f", ""), undefined);
  assert.match(problems[0] ?? "", /has 210 Markdown files; only the first 200 are read/);
});

test("a file whose name cannot follow a slash is not offered", (t) => {
  const place = new SkillPlace(t);
  place.write("home/commands/2fa.md", "x");
  place.write("home/commands/2026/plan.md", "x");
  place.write("home/commands/plan/2026.md", "x");
  place.write("home/commands/a\nb.md", "x");
  const { commands } = commandReport(place);
  for (const { name, state, reason = "" } of commands) {
    assert.equal(state, name === "plan:2026" ? "offered" : "broken", name);
    assert.doesNotMatch(name + reason, /\n/);
    if (/^\d/.test(name)) assert.ok(!isCommand(`/${name}`));
  }
  assert.equal(commands.length, 4);
});

test("a place with endless folders is searched up to a limit", (t) => {
  const place = new SkillPlace(t);
  for (let n = 1_000; n < 1_202; n++) mkdirSync(join(place.home, "commands", `f${n}`), { recursive: true });
  place.write("home/commands/z/last.md", "x");
  place.write("home/commands/first.md", "x");
  const { commands, problems } = commandReport(place);
  assert.deepEqual(
    commands.map(({ name }) => name),
    ["first"],
  );
  assert.match(problems[0] ?? "", /more than 200 subfolders; only the first ones are searched/);
});
