import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import type { KeptWords, ShownRecord } from "../../packages/keeper/src/words/kept-words.ts";
import { claudeLine, KeptHome, SESSION } from "./kept-home.ts";

const CLAUDE = `.claude/projects/-work/${SESSION}.jsonl`;
const ROLLOUT = `.codex/sessions/2026/05/01/rollout-2026-05-01T10-00-00-${SESSION}.jsonl`;

/** The messages of a conversation as `role: text`. */
function talk(words: KeptWords, native: string): string[] {
  const [found] = words.find(native);
  const records = found ? [...words.records(found.id)] : [];
  return records.filter(({ role }) => role !== "data").map(lineOf);
}

function lineOf({ role, parts }: ShownRecord): string {
  return `${role}: ${parts.map(({ kind, name, text }) => [kind === "text" ? "" : `[${kind}${name === undefined ? "" : ` ${name}`}] `, text].join("")).join(" | ")}`;
}

async function passed(home: KeptHome): Promise<KeptWords> {
  await home.keeper.pass();
  return home.words();
}

test("a conversation of Claude Code is found by its words, with its folder and neighbours", async () => {
  using home = new KeptHome();
  home.write(CLAUDE, claudeLine(0, "where is the lighthouse") + claudeLine(1, "on the northern cape"));
  using words = await passed(home);
  const [hit, ...others] = words.search("lighthouse", {});
  assert.deepEqual(others, []);
  assert.equal(hit?.conversation.folder, "/work/project");
  assert.equal(hit?.role, "user");
  assert.deepEqual(talk(words, SESSION), [
    "user: where is the lighthouse",
    "assistant: on the northern cape",
  ]);
  assert.deepEqual(words.search("lighthouse", { folder: "/work" }).length, 1);
  assert.deepEqual(words.search("lighthouse", { folder: "/work/pro" }), []);
  assert.deepEqual(words.search("lighthouse", { agent: "codex" }), []);
  assert.deepEqual(words.search("lighthouse", { since: Date.parse("2026-05-02") }), []);
});

test("a large result that has its own file belongs to the conversation", async () => {
  using home = new KeptHome();
  home.write(CLAUDE, claudeLine(0, "run it"));
  home.write(CLAUDE.replace(".jsonl", "/tool-results/toolu_big.txt"), "much output\nNEEDLE-IN-BIG-OUTPUT\n");
  home.write(CLAUDE.replace(".jsonl", "/subagents/agent-abc.jsonl"), claudeLine(0, "subagent's task"));
  using words = await passed(home);
  assert.equal(words.search("NEEDLE-IN-BIG-OUTPUT", {})[0]?.conversation.native, SESSION);
  assert.deepEqual(
    words.children(SESSION).map(({ native }) => native),
    [`${SESSION}/agent-abc`],
  );
});

test("two lines with one uuid and other words are two messages", async () => {
  using home = new KeptHome();
  home.write(CLAUDE, claudeLine(0, "one") + claudeLine(0, "other"));
  using words = await passed(home);
  assert.deepEqual(talk(words, SESSION), ["user: one", "user: other"]);
});

const codexLine = (type: string, payload: object): string =>
  `${JSON.stringify({ timestamp: "2026-05-01T10:00:00.000Z", type, payload })}\n`;
const codexMessage = (role: string, text: string): string =>
  codexLine("response_item", { type: "message", role, content: [{ type: "input_text", text }] });

test("a rollout that a compaction rewrote has the words before it, and those that only the compaction has", async () => {
  using home = new KeptHome();
  const meta = codexLine("session_meta", { id: SESSION, cwd: "/work/project" });
  const path = home.write(
    ROLLOUT,
    meta + codexMessage("user", "the first question") + codexMessage("assistant", "the long answer"),
  );
  await home.keeper.pass();
  const history = [
    { type: "message", role: "user", content: [{ type: "input_text", text: "only copy of a question" }] },
  ];
  writeFileSync(
    path,
    meta +
      codexLine("compacted", { message: "a summary", replacement_history: history }) +
      codexMessage("user", "next"),
  );
  using words = await passed(home);
  assert.deepEqual(talk(words, SESSION), [
    "user: the first question",
    "assistant: the long answer",
    "summary: a summary | only copy of a question",
    "user: next",
  ]);
  assert.equal(words.search("only copy", {}).length, 1);
});

test("a compressed rollout is read, and the one that it replaced is no loss", async () => {
  using home = new KeptHome();
  const content =
    codexLine("session_meta", { id: SESSION, cwd: "/w" }) + codexMessage("user", "compressed words");
  const path = home.write(ROLLOUT, content);
  await home.keeper.pass();
  home.write(`${ROLLOUT}.zst`, zstdCompressSync(Buffer.from(content)));
  rmSync(path);
  using words = await passed(home);
  assert.deepEqual(home.events(), ["compressed 0"]);
  assert.equal(words.search("compressed words", {}).length, 1);
});

test("half a compressed file is reported, and read when it is whole", async () => {
  using home = new KeptHome();
  const whole = zstdCompressSync(Buffer.from(codexMessage("user", "late words")));
  const path = home.write(`${ROLLOUT}.zst`, whole.subarray(0, 20));
  await home.keeper.pass();
  assert.deepEqual(home.problems, [path]);
  appendFileSync(path, whole.subarray(20));
  using words = await passed(home);
  assert.equal(words.search("late words", {}).length, 1);
});

test("calls, results, thoughts and images of each protocol are parts of their own", async () => {
  using home = new KeptHome();
  const item = (payload: object): string => codexLine("response_item", payload);
  home.write(
    ROLLOUT,
    item({
      type: "reasoning",
      summary: [{ type: "summary_text", text: "thinking of it" }],
      encrypted_content: "gAAA",
    }) +
      item({ type: "function_call", name: "shell", arguments: '{"cmd":"ls"}', call_id: "c1" }) +
      item({ type: "function_call_output", call_id: "c1", output: "a.txt" }) +
      item({
        type: "message",
        role: "user",
        content: [{ type: "input_image", image_url: `data:image/png;base64,${"A".repeat(400)}` }],
      }),
  );
  home.write(
    ".gemini/tmp/abc/chats/session-1.json",
    JSON.stringify({
      sessionId: "g1",
      messages: [
        { id: "m1", type: "user", content: "hello", timestamp: "2026-05-01T10:00:00Z" },
        {
          id: "m2",
          type: "gemini",
          content: "done",
          thoughts: [{ subject: "plan", description: "look first" }],
          toolCalls: [
            {
              name: "read_file",
              args: { path: "x" },
              result: [{ functionResponse: { response: { output: "content of x" } } }],
            },
          ],
        },
      ],
    }),
  );
  home.write(
    ".local/share/goose/sessions/20260501.jsonl",
    [
      { working_dir: "/work", description: "a goose session" },
      {
        role: "assistant",
        created: 1_780_000_000,
        content: [
          {
            type: "toolRequest",
            id: "t",
            toolCall: { value: { name: "shell", arguments: { command: "pwd" } } },
          },
        ],
      },
      {
        role: "user",
        created: 1_780_000_001,
        content: [
          {
            type: "toolResponse",
            id: "t",
            toolResult: { status: "success", value: [{ type: "text", text: "/work" }] },
          },
        ],
      },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(""),
  );
  using words = await passed(home);
  assert.deepEqual(talk(words, SESSION), [
    "assistant: [thinking] thinking of it",
    'assistant: [call shell] {"cmd":"ls"}',
    "tool: [result] a.txt",
    "user: [image] image, 459 characters",
  ]);
  assert.deepEqual(talk(words, "session-1"), [
    "user: hello",
    'assistant: [thinking] plan\nlook first | done | [call read_file] {"path":"x"} | [result read_file] content of x',
  ]);
  assert.equal(words.search("goose session", {}).length, 1);
  assert.match(
    talk(words, "20260501").join("\n"),
    /\[call shell\] \{"command":"pwd"\}\ntool: \[result\] .*\/work/s,
  );
});

test("a document that is rewritten with each message has each message once", async () => {
  using home = new KeptHome();
  const name =
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/t1/api_conversation_history.json";
  const messages = ["first", "second", "third"].map((text) => ({
    role: "user",
    content: [{ type: "text", text: `the ${text} message` }],
  }));
  for (let count = 1; count <= 3; count += 1) {
    home.write(name, JSON.stringify(messages.slice(0, count)));
    await home.keeper.pass();
  }
  assert.deepEqual(home.events(), []);
  using words = home.words();
  assert.deepEqual(talk(words, "t1"), [
    "user: the first message",
    "user: the second message",
    "user: the third message",
  ]);
  home.write(name, JSON.stringify(messages.slice(2)));
  await home.keeper.pass();
  assert.match(home.events().join(), /^rewritten \d+$/);
  assert.equal(home.words().search("second", {}).length, 1);
});

test("both generations of OpenCode are read: files for each part, and a database", async () => {
  using home = new KeptHome();
  const storage = ".local/share/opencode/storage";
  home.write(
    `${storage}/session/p1/ses_1.json`,
    JSON.stringify({
      id: "ses_1",
      directory: "/work",
      title: "old generation",
      time: { created: 1_780_000_000_000 },
    }),
  );
  home.write(
    `${storage}/message/ses_1/msg_1.json`,
    JSON.stringify({ id: "msg_1", sessionID: "ses_1", role: "user", time: { created: 1_780_000_000_001 } }),
  );
  home.write(
    `${storage}/part/msg_1/prt_1.json`,
    JSON.stringify({
      id: "prt_1",
      messageID: "msg_1",
      sessionID: "ses_1",
      type: "text",
      text: "words in a part",
    }),
  );
  using db = new DatabaseSync(home.path(".local/share/opencode/opencode.db"));
  db.exec(
    "PRAGMA journal_mode = WAL; CREATE TABLE part (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT)",
  );
  db.prepare("INSERT INTO part VALUES (?, ?, ?, ?)").run(
    "p1",
    "ses_2",
    1_780_000_000_000,
    JSON.stringify({ type: "text", text: "words in a row" }),
  );
  using words = await passed(home);
  assert.equal(words.search("words in a part", {})[0]?.conversation.native, "ses_1");
  assert.equal(words.search("words in a row", {})[0]?.conversation.native, "ses_2");
  assert.equal(words.find("ses_1")[0]?.title, "old generation");
});

test("the history of Aider has the user's words apart from the answers", async () => {
  using home = new KeptHome();
  mkdirSync(home.path("project"));
  home.write(
    "project/.aider.chat.history.md",
    "\n# aider chat started at 2026-05-01 10:00:00\n\n> Aider v0.80\n\n#### add a test  \n\nI will add one.\n\n> Applied edit to a.py\n\n#### thanks\n\nYou are welcome.\n",
  );
  using words = await passed(home);
  assert.deepEqual(
    words
      .search("add", {})
      .map(({ role }) => role)
      .toSorted(),
    ["assistant", "user"],
  );
});

test("records of Copilot CLI, Droid, pi, OpenClaw and Qwen have their roles", async () => {
  using home = new KeptHome();
  const lines = (...all: object[]): string => all.map((line) => `${JSON.stringify(line)}\n`).join("");
  const message = (role: string, text: string): object => ({
    type: "message",
    timestamp: "2026-05-01T10:00:00Z",
    message: { role, content: [{ type: "text", text }] },
  });
  home.write(
    ".copilot/session-state/c1/events.jsonl",
    lines(
      { type: "user.message", data: { content: "copilot question" } },
      { type: "tool.execution_start", data: { toolName: "bash", arguments: { command: "ls" } } },
    ),
  );
  home.write(
    ".factory/sessions/-work/d1.jsonl",
    lines(
      { type: "session_start", id: "d1", title: "droid title", cwd: "/work" },
      message("user", "droid question"),
    ),
  );
  home.write(
    ".pi/agent/sessions/--work--/2026_p1.jsonl",
    lines({ type: "session", id: "p1", cwd: "/work" }, message("assistant", "pi answer")),
  );
  home.write(
    ".openclaw/agents/main/sessions/o1.jsonl",
    lines({ type: "session", id: "o1" }, message("user", "claw question")),
  );
  home.write(
    ".qwen/projects/-work/chats/q1.jsonl",
    lines({
      uuid: "a",
      sessionId: "q1",
      type: "user",
      cwd: "/work",
      message: { role: "user", parts: [{ text: "qwen question" }] },
    }),
  );
  using words = await passed(home);
  assert.deepEqual(talk(words, "c1"), ["user: copilot question", 'assistant: [call bash] {"command":"ls"}']);
  assert.deepEqual(talk(words, "d1"), ["user: droid question"]);
  assert.equal(words.find("d1")[0]?.title, "droid title");
  assert.deepEqual(talk(words, "p1"), ["assistant: pi answer"]);
  assert.deepEqual(talk(words, "o1"), ["user: claw question"]);
  assert.deepEqual(talk(words, "q1"), ["user: qwen question"]);
});

test("an index of words that is lost is made again", async () => {
  using home = new KeptHome();
  const path = home.write(CLAUDE, claudeLine(0, "kept words"));
  await home.keeper.pass();
  rmSync(path);
  await home.keeper.pass();
  home.keeper.close();
  rmSync(home.path("pagurus/keeper/words.db"));
  home.keeper = home.open();
  using words = await passed(home);
  assert.equal(words.search("kept words", {}).length, 1);
  assert.equal(words.conversations()[0]?.isGone, true);
});

test("the words of more records than one table of the index has are found in all of them, once", async () => {
  using home = new KeptHome();
  const lines = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, at) => {
      const number = from + at;
      const rare = number % 11_000 === 7 ? ` rare${number}` : "";
      return `{"type":"user","sessionId":"${SESSION}","message":{"role":"user","content":"common x${number}${rare}"}}\n`;
    }).join("");
  const path = home.write(CLAUDE, lines(0, 33_500));
  const other = CLAUDE.replace("1111-1111", "2222-1111").replace("-work", "-other");
  using first = await passed(home);
  const numbers = [7, 11_007, 22_007, 33_007];
  for (const number of numbers) assert.equal(first.search(`rare${number}`, {}).length, 1);
  // Records of the second table, of which there are too few for it to answer.
  assert.match(first.search("common x33499", {})[0]?.snippet ?? "", /x33499$/);
  appendFileSync(path, lines(33_500, 34_500));
  home.write(other, claudeLine(0, "common in another folder").replaceAll(SESSION, "other"));
  using words = await passed(home);
  for (const number of numbers) assert.equal(words.search(`rare${number}`, {}).length, 1);
  assert.deepEqual(
    words.search("common", { folder: "/work/project" }).map(({ conversation }) => conversation.native),
    ["11112222-1111-4111-8111-111111111111"],
  );
  assert.equal(words.search("common", { limit: 600 }).length, 500);
  assert.equal(words.search("common", { limit: 40_000, isExact: true }).length, 34_501);
  assert.equal(words.search("common nowhere", { limit: 10 }).length, 10);
  assert.deepEqual(words.search("common nowhere", { limit: 10, isExact: true }), []);
});
