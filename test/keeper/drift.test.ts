import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { test } from "node:test";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { checkKeeper } from "../../packages/doctor/src/keeper-check.ts";
import { keeperPlace } from "../../packages/keeper/src/keeper-place.ts";
import { driftOf, versionLines } from "../../packages/keeper/src/words/drift.ts";
import { fakeCli } from "../cli/fake-cli.ts";
import { claudeLine, KeptHome, SESSION } from "./kept-home.ts";

const CLAUDE = `.claude/projects/-work/${SESSION}.jsonl`;

function lines(count: number, change: (line: string, at: number) => string): string {
  return Array.from({ length: count }, (_, at) => change(claudeLine(at, `some words ${at}`), at)).join("");
}

test("a new version whose messages are elsewhere is reported by its counts, and its words are found", async () => {
  using home = new KeptHome();
  const path = home.write(
    CLAUDE,
    lines(40, (line) => line),
  );
  await home.keeper.pass();
  const changed = (line: string): string =>
    line.replace("2.1.330", "3.0.1").replace('"message":', '"turn":').replaceAll("some words", "other words");
  appendFileSync(
    path,
    lines(30, (line, at) => (at < 5 ? line.replace("2.1.330", "3.0.1") : changed(line))),
  );
  await home.keeper.pass();
  const folder = keeperPlace(home.path("pagurus")).folder;
  assert.deepEqual(driftOf(versionLines(folder)), [
    { agent: "claude-code", version: "3.0.1", lines: 30, unread: 25, before: 0 },
  ]);
  using words = home.words();
  assert.equal(words.search("other words 29", {}).length, 1);
  const cli = {
    ...fakeCli({ env: { HOME: home.folder, PAGURUS_HOME: home.path("pagurus") } }),
    cwd: home.folder,
  };
  assert.equal(await execute(["keep", "status"], cli), 0);
  const sentence =
    /Claude Code 3\.0\.1 writes what this version of Pagurus does not understand: 25 of 30 lines \(83 %, 0 % in versions before\)/;
  assert.match(cli.out(), sentence);
  assert.match(checkKeeper(home.path("pagurus"))[0]?.detail ?? "", sentence);
});

test("a rollout's lines count for the version that its head names, also after a restart", async () => {
  using home = new KeptHome();
  const rollout = `.codex/sessions/2026/05/01/rollout-2026-05-01T10-00-00-${SESSION}.jsonl`;
  const meta = { type: "session_meta", payload: { id: SESSION, cwd: "/work", cli_version: "0.171.0" } };
  const item = {
    type: "response_item",
    payload: { type: "message", role: "user", content: [{ type: "input_text", text: "a word" }] },
  };
  const path = home.write(rollout, `${JSON.stringify(meta)}\n`);
  await home.keeper.pass();
  home.reopen();
  appendFileSync(path, `${JSON.stringify(item)}\nno json at all\n`);
  await home.keeper.pass();
  assert.deepEqual(versionLines(keeperPlace(home.path("pagurus")).folder), [
    { agent: "codex", version: "0.171.0", lines: 3, unread: 1 },
  ]);
});

test("versions with few lines, and such as are understood as before, are no drift", () => {
  const row = (version: string, count: number, unread: number) => ({
    agent: "codex",
    version,
    lines: count,
    unread,
  });
  assert.deepEqual(driftOf([row("0.9.0", 100, 30), row("0.10.0", 100, 40), row("0.11.0", 19, 19)]), []);
  assert.deepEqual(
    driftOf([row("0.10.0", 100, 90), row("0.9.0", 100, 30), row("0.11.0", 50, 45)]).map(
      ({ version }) => version,
    ),
    ["0.10.0", "0.11.0"],
  );
  assert.deepEqual(driftOf([row("1.0.0", 50, 44)]), []);
  assert.deepEqual(driftOf([row("1.0.0", 50, 45)]), [row("1.0.0", 50, 45)]);
  assert.deepEqual(driftOf([row("", 500, 500)]), []);
});
