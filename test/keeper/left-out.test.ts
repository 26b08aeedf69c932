import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { fakeCli, type FakeCli } from "../cli/fake-cli.ts";
import { claudeLine, KeptHome, SESSION } from "./kept-home.ts";

const CLAUDE = `.claude/projects/-work/${SESSION}.jsonl`;
const ROLLOUT = `.codex/sessions/2026/05/01/rollout-2026-05-01T10-00-00-${SESSION.replace("1", "2")}.jsonl`;

/** A line of a conversation that was held in a folder of the home. */
function lineIn(folder: string, number: number, text: string): string {
  return claudeLine(number, text).replace("/work/project", folder);
}

function keptPaths(home: KeptHome): string[] {
  return home.keeper.archive.files().map(({ path }) => path.slice(home.folder.length + 1));
}

test("a folder with an ignore file and those below it are not kept, with all files of their conversations", async () => {
  using home = new KeptHome();
  mkdirSync(home.path("secret/deep"), { recursive: true });
  writeFileSync(home.path("secret/.pagurusignore"), "");
  home.write(CLAUDE, lineIn(home.path("secret/deep"), 0, "a secret word"));
  home.write(CLAUDE.replace(".jsonl", "/tool-results/toolu_1.txt"), "a secret result");
  home.write(
    CLAUDE.replace(".jsonl", "/subagents/agent-a.jsonl"),
    lineIn(home.path("secret"), 0, "secret task"),
  );
  home.write(`.claude/file-history/${SESSION}/abc@v1`, "a secret file");
  const meta = { type: "session_meta", payload: { id: "x", cwd: home.path("secret") } };
  home.write(ROLLOUT, `${JSON.stringify(meta)}\n`);
  const other = home.write(
    ".claude/projects/-other/other.jsonl",
    lineIn(home.path("open"), 0, "an open word"),
  );
  await home.keeper.pass();
  assert.deepEqual(keptPaths(home), [other.slice(home.folder.length + 1)]);
  rmSync(home.path("secret/.pagurusignore"));
  await home.keeper.pass();
  assert.equal(keptPaths(home).length, 6);
});

test("the lines of an ignore file name folders below it", async () => {
  using home = new KeptHome();
  mkdirSync(home.path("work"));
  writeFileSync(home.path("work/.pagurusignore"), "# of the client\nclient/\n\n./drafts/old\n");
  const kept: string[] = [];
  for (const [at, folder] of [
    "work",
    "work/client/x",
    "work/clients",
    "work/drafts/old",
    "work/drafts",
  ].entries()) {
    const path = home.write(`.claude/projects/-p${at}/s${at}.jsonl`, lineIn(home.path(folder), 0, "word"));
    if (![1, 3].includes(at)) kept.push(path.slice(home.folder.length + 1));
  }
  await home.keeper.pass();
  assert.deepEqual(keptPaths(home).toSorted(), kept.toSorted());
});

test("what was kept of a folder before it was left out stays, is named, and can be forgotten", async () => {
  using home = new KeptHome();
  mkdirSync(home.path("secret"));
  const path = home.write(CLAUDE, lineIn(home.path("secret"), 0, "an early word"));
  await home.keeper.pass();
  writeFileSync(home.path("secret/.pagurusignore"), "");
  appendFileSync(path, lineIn(home.path("secret"), 1, "a late word"));
  await home.keeper.pass();
  assert.match(home.kept(path), /early/);
  assert.doesNotMatch(home.kept(path), /late/);
  assert.deepEqual(home.events(), []);
  home.keeper.close();
  const run = async (...args: string[]): Promise<FakeCli> => {
    const cli = {
      ...fakeCli({ env: { HOME: home.folder, PAGURUS_HOME: home.path("pagurus") } }),
      cwd: home.folder,
    };
    assert.equal(await execute(args, cli), 0);
    return cli;
  };
  const status = await run("keep", "status");
  assert.match(
    status.out(),
    /secret\/\.pagurusignore leaves out \S+secret, of which 1 earlier conversation is kept; pagurus keep forget --folder/,
  );
  const report = JSON.parse((await run("keep", "status", "--json")).out()) as { leftOut: unknown };
  assert.deepEqual(report.leftOut, [
    { folder: home.path("secret"), conversations: 1, by: home.path("secret/.pagurusignore") },
  ]);
  await run("keep", "forget", "--folder", home.path("secret"), "--yes");
  assert.doesNotMatch((await run("keep", "status")).out(), /leaves out/);
  home.keeper = home.open();
});
