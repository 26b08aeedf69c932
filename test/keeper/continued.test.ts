/** Kept conversations as sessions of other programs, by the command. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { execute } from "../../packages/cli/src/cli-program.ts";
import type { NativeSession, Portable } from "../../packages/keeper/src/native/portable.ts";
import { writeClaudeCode } from "../../packages/keeper/src/native/write-claude-code.ts";
import { writeCodex } from "../../packages/keeper/src/native/write-codex.ts";
import { writeOpenCode } from "../../packages/keeper/src/native/write-opencode.ts";
import { writePi } from "../../packages/keeper/src/native/write-pi.ts";
import { fakeCli } from "../cli/fake-cli.ts";
import { madeConversation, marksOf } from "../real/keeper/made-conversation.ts";
import { KeptHome, SESSION } from "./kept-home.ts";

const NOW = Date.parse("2026-06-02T08:00Z");
const CWD = "/work/project";
const MADE: Portable = { cwd: CWD, title: "The harbour", items: madeConversation(30, 20) };
const MODEL = ["--model", "mine/m1"];
const IDS = { id: SESSION, now: NOW };
const HOMES: Readonly<Record<string, string>> = {
  "claude-code": ".claude",
  codex: ".codex",
  pi: ".pi/agent",
};

const AGENTS = ["claude-code", "codex", "opencode", "pi"] as const;
const WRITERS: Record<(typeof AGENTS)[number], (portable: Portable) => NativeSession> = {
  "claude-code": (portable) => writeClaudeCode(portable, IDS),
  codex: (portable) => writeCodex(portable, IDS),
  opencode: (portable) => writeOpenCode(portable, IDS, { providerID: "mine", modelID: "m1" }),
  pi: (portable) => writePi(portable, IDS),
};

/** Puts a session where its program has it; OpenCode has a database. */
function put(home: KeptHome, agent: (typeof AGENTS)[number], session: NativeSession): void {
  if (session.place !== undefined) home.write(`${HOMES[agent]}/${session.place}`, session.content);
  else {
    const { info, messages } = JSON.parse(session.content) as {
      info: { id: string; directory: string; title: string };
      messages: { info: { id: string; time: { created: number } }; parts: { id: string }[] }[];
    };
    const db = new DatabaseSync(home.write(".local/share/opencode/opencode.db", ""));
    db.exec(`CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT, title TEXT, time_created INTEGER);
      CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
      CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT)`);
    db.prepare("INSERT INTO session VALUES (?, ?, ?, ?)").run(info.id, info.directory, info.title, NOW);
    for (const { info: head, parts } of messages) {
      const row = [head.id, info.id, head.time.created, JSON.stringify(head)] as const;
      db.prepare("INSERT INTO message VALUES (?, ?, ?, ?)").run(...row);
      for (const part of parts)
        db.prepare("INSERT INTO part VALUES (?, ?, ?, ?)").run(
          part.id,
          head.id,
          info.id,
          JSON.stringify(part),
        );
    }
    db.close();
  }
}

async function continued(home: KeptHome, ...args: string[]): Promise<{ file: string; commands: string[] }> {
  const cli = fakeCli({ env: { HOME: home.folder, PAGURUS_HOME: home.path("pagurus") } });
  assert.equal(await execute(["keep", "continue", ...args, "--json"], cli), 0, cli.err());
  return JSON.parse(cli.out()) as { file: string; commands: string[] };
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

for (const source of AGENTS)
  test(`a conversation of ${source} becomes a session of each program, with every word, call, result and image once`, async () => {
    using home = new KeptHome();
    const session = WRITERS[source](MADE);
    put(home, source, session);
    await home.keeper.pass();
    for (const target of AGENTS) {
      const output = home.path(`${target}.out`);
      const { commands } = await continued(home, session.id, "--with", target, "--output", output, ...MODEL);
      const written = readFileSync(output, "utf8");
      // What Codex shows on its screen repeats the items.
      const text = written
        .split("\n")
        .filter((line) => !line.includes('"event_msg"'))
        .join("\n");
      for (let turn = 0; turn < 30; turn += 1) {
        const { words, images } = marksOf(turn);
        for (const part of [...words, ...images])
          assert.equal(countOf(text, part), 1, `${part.slice(0, 20)} in ${target}`);
      }
      assert.ok(countOf(text, "the-summary-mark") >= 1, target);
      assert.ok(!text.includes("A thought that is not carried"), target);
      assert.match(commands.join("\n"), /claude --resume|codex resume|pi --session|opencode import/);
    }
  });

test("with --whole a session has all messages and no summary", async () => {
  using home = new KeptHome();
  const session = WRITERS.pi(MADE);
  put(home, "pi", session);
  await home.keeper.pass();
  const { file } = await continued(home, session.id, "--with", "claude-code", "--whole");
  assert.ok(file.startsWith(home.path(".claude/projects/-work-project/")));
  const text = readFileSync(file, "utf8");
  assert.equal(countOf(text, "the-summary-mark"), 0);
  assert.equal(countOf(text, "ask-3-mark"), 1);
});

test("a kept version from before a rewrite continues, with what the rewrite took away", async () => {
  using home = new KeptHome();
  const session = WRITERS.codex(MADE);
  const path = `.codex/${session.place}`;
  home.write(path, session.content);
  await home.keeper.pass();
  const lines = session.content.split("\n");
  home.write(path, [lines[0], ...lines.slice(-9)].join("\n"));
  await home.keeper.pass();
  const short = await continued(home, SESSION, "--with", "pi", "--output", home.path("short"));
  assert.equal(countOf(readFileSync(short.file, "utf8"), "ask-3-mark"), 0);
  const args = ["--version", "1", "--output", home.path("long")];
  const long = await continued(home, SESSION, "--with", "pi", ...args);
  assert.equal(countOf(readFileSync(long.file, "utf8"), "ask-3-mark"), 1);
});

test("a rollout has no more items than a request of Codex may have, and says how many are left out", () => {
  const items = madeConversation(5_000, -1);
  const { content } = WRITERS.codex({ ...MADE, items });
  const lines = content.trimEnd().split("\n");
  const sent = lines.map((line) => JSON.parse(line) as { type: string; payload: { role?: string } });
  const responses = sent.filter(({ type }) => type === "response_item");
  assert.ok(responses.length <= 16_384 - 1_024 + 1);
  assert.match(content, /The \d+ oldest items of this conversation are left out/);
  assert.equal(responses[1]?.payload.role, "user");
  assert.match(content, /say-4999-mark/);
});

test("an unknown program, and OpenCode without a model, are refused in a sentence", async () => {
  using home = new KeptHome();
  put(home, "pi", WRITERS.pi(MADE));
  await home.keeper.pass();
  for (const [target, sentence] of [
    ["emacs", /No session of "emacs" can be written; take claude-code/],
    ["opencode", /Name the model with which OpenCode continues: --model/],
  ] as const) {
    const cli = fakeCli({ env: { HOME: home.folder, PAGURUS_HOME: home.path("pagurus") } });
    assert.notEqual(await execute(["keep", "continue", SESSION, "--with", target], cli), 0);
    assert.match(cli.err(), sentence);
  }
});
