import assert from "node:assert/strict";
import { test } from "node:test";
import { callRecords } from "../../packages/core/src/compaction/summary/calls.ts";
import {
  carriedFiles,
  fileLine,
  fileStates,
  filesTouched,
  readFileLine,
} from "../../packages/core/src/compaction/summary/touched-files.ts";
import {
  requiredIdentifiers,
  surveyStrings,
} from "../../packages/core/src/compaction/summary/identifiers.ts";
import { Pace } from "../../packages/core/src/platform/pace.ts";
import { rankPassages } from "../../packages/core/src/compaction/summary/ranked-passages.ts";
import { renderSections } from "../../packages/core/src/compaction/summary/sections.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { renderSummary } from "../../packages/contract/src/engine/summary.ts";
import { assistant, call, result, user } from "./histories.ts";

test("files are listed by operation, the last used first, without calls that failed or have no result", () => {
  const messages = [
    assistant("", [call("1", "read", { path: "a.ts" }), call("2", "read", { file_path: "b.ts" })]),
    result("1", ""),
    result("2", ""),
    assistant("", [call("3", "edit", { path: "a.ts" }), call("4", "write", { path: "c.ts" })]),
    result("3", ""),
    result("4", "denied", { isError: true }),
    assistant("", [call("5", "read", { path: "a.ts" }), call("6", "write", { path: "d.ts" })]),
    result("5", ""),
  ];
  assert.deepEqual(filesTouched(callRecords(messages)), {
    read: ["a.ts", "b.ts"],
    written: [],
    edited: ["a.ts"],
  });
});

interface Made {
  tool: string;
  args: Record<string, unknown>;
  isError?: boolean;
}

function calls(...made: Made[]): AgentMessage[] {
  return made.flatMap(({ tool, args, isError = false }, index) => [
    assistant("", [call(`f${index}`, tool, args)]),
    result(`f${index}`, "", { toolName: tool, isError }),
  ]);
}

async function lines(messages: AgentMessage[], summary?: string): Promise<string[]> {
  const states = await fileStates(callRecords(messages), carriedFiles(summary), new Pace());
  return [...states].map(([path, state]) => fileLine(path, state));
}

test("a file's line has its last known state: the last change, its length, whether a later change failed", async () => {
  const made = calls(
    { tool: "write", args: { path: "a.ts", content: "one\ntwo\n" } },
    { tool: "read", args: { path: "a.ts" } },
    { tool: "read", args: { path: "b.ts" } },
    { tool: "write", args: { path: "c.ts", content: "x" } },
    { tool: "edit", args: { path: "c.ts" } },
    { tool: "edit", args: { path: "a.ts" }, isError: true },
    { tool: "edit", args: { path: "d.ts" }, isError: true },
    { tool: "read", args: { path: "gone.ts" }, isError: true },
    { tool: "delete_file", args: { path: "e.ts" } },
  );
  assert.deepEqual(await lines(made), [
    "b.ts (read)",
    "c.ts (edited)",
    "a.ts (written, 2 lines, last edit failed)",
    "d.ts (edit failed)",
    "e.ts (deleted)",
  ]);
});

test("a command that removes a known file is recorded; one that only might have is not", async () => {
  const known = ["a.ts", "src/b.ts", "src/c/d.ts", "e.ts", "f.ts"].map((path) => ({
    tool: "read",
    args: { path },
  }));
  const shell = (command: string, isError = false): Made => ({ tool: "shell", args: { command }, isError });
  const made = calls(
    ...known,
    shell("rm -f ./a.ts 'src/b.ts' && git rm -r src/c/ && rm unknown.ts"),
    shell("cd sub && rm e.ts"),
    shell("rm e.ts || true"),
    shell("rm f.ts", true),
  );
  assert.deepEqual(await lines(made), [
    "e.ts (read)",
    "f.ts (read)",
    "a.ts (deleted)",
    "src/b.ts (deleted)",
    "src/c/d.ts (deleted)",
  ]);
});

test("an earlier summary's state of a file is kept until a call changes it", async () => {
  const earlier = [
    "a (1).ts (written, 40 lines)",
    "b.ts (edited, last edit failed)",
    "c.ts (write failed)",
    "d.ts (read)",
  ];
  const summary = renderSections(earlier.map((text) => ({ section: "Files touched", text })));
  const made = calls(
    { tool: "read", args: { path: "a (1).ts" } },
    { tool: "edit", args: { path: "b.ts" } },
    { tool: "write", args: { path: "c.ts", content: "" } },
  );
  assert.deepEqual(await lines(made, summary), [
    "d.ts (read)",
    "a (1).ts (written, 40 lines)",
    "b.ts (edited)",
    "c.ts (written, 0 lines)",
  ]);
  assert.equal(readFileLine("a sentence (of a model)"), undefined);
});

test("the strings that a summary has to keep are those of the newest requests, then the agent's own", async () => {
  const messages = [
    user("first look at OLD_TICKET_1"),
    assistant("", [call("1", "read", { path: "src/used_by_agent.ts" })]),
    result("1", "shown_only_17"),
    user("then close PROJ_4711"),
    user("thanks, go on"),
    user("and mind host10.example"),
  ];
  const strings = await surveyStrings(messages, new Pace());
  assert.deepEqual(requiredIdentifiers(strings, 100), [
    "host10.example",
    "PROJ_4711",
    "src/used_by_agent.ts",
    "OLD_TICKET_1",
  ]);
  assert.ok(requiredIdentifiers(strings, 12).length < 4);
});

test("identifiers are specific strings, those the agent wrote before those that only results show", async () => {
  const messages = [
    user("look at ticket PROJ_4711 please, nothing ordinary"),
    assistant("", [call("1", "read", { path: "/etc/app/settings.json" })]),
    result("1", "maxRetries timeoutMs 10.0.0.17"),
  ];
  const { ranked } = await surveyStrings(messages, new Pace());
  const values = ranked.map(({ value }) => value);
  assert.deepEqual(values.slice(0, 2), ["/etc/app/settings.json", "PROJ_4711"]);
  assert.deepEqual(values.slice(2).toSorted(), ["10.0.0.17", "maxRetries", "timeoutMs"]);
});

test("the passage that answers comes first, verbatim and with its entry", () => {
  const messages = [
    user("We deploy on Tuesdays. The staging server listens on port 8443.", "e1"),
    assistant("Noted, the server is set up.", [], "e2"),
    result("x", "port 22 open\nport 80 closed", { entryId: "e3" }),
  ];
  const [first] = rankPassages({
    query: "Which port does the staging server listen on?",
    messages,
    limit: 3,
  });
  assert.equal(first?.text, "We deploy on Tuesdays. The staging server listens on port 8443.");
  assert.equal(first?.entryId, "e1");
  assert.equal(first?.role, "user");
});

test("a user's text ranks above the same text of an assistant, and equal scores keep their order", () => {
  const messages = [
    assistant("colour blue one", [], "a"),
    assistant("colour blue two", [], "b"),
    user("colour blue three", "c"),
  ];
  assert.deepEqual(
    rankPassages({ query: "colour", messages, limit: 5 }).map((passage) => passage.entryId),
    ["c", "a", "b"],
  );
});

test("questions in scripts without spaces find their passage", () => {
  const messages = [
    user("服务器的端口是八千四百四十三。\n\n数据库在另一台机器上。", "e1"),
    user("サーバーは大阪にあります。", "e2"),
  ];
  assert.equal(
    rankPassages({ query: "数据库在哪里？", messages, limit: 1 })[0]?.text,
    "数据库在另一台机器上。",
  );
  assert.equal(rankPassages({ query: "大阪のサーバー", messages, limit: 1 })[0]?.entryId, "e2");
  const russian = [user("Порт сервера равен 8443.", "e3"), user("Завтра выходной.", "e4")];
  assert.equal(
    rankPassages({ query: "какой порт у сервером", messages: russian, limit: 1 })[0]?.entryId,
    "e3",
  );
});

test("passages stay within their limit, also in one unbroken line, and a summary is quoted without its frame", () => {
  const messages = [
    user(renderSummary("The needle is in box seven.")),
    user(`needle ${"x".repeat(5_000)}`),
    result("1", `${"word ".repeat(900)}needle`),
  ];
  const passages = rankPassages({ query: "needle", messages, limit: 10, maxChars: 200 });
  assert.equal(passages.length, 3);
  for (const { text } of passages) assert.ok(text.length <= 200);
  assert.ok(passages.some((passage) => passage.text === "The needle is in box seven."));
});

test("a query without matches finds nothing, and one of stop words alone is searched literally", () => {
  assert.deepEqual(rankPassages({ query: "zebra", messages: [user("nothing here")], limit: 3 }), []);
  assert.equal(rankPassages({ query: "who are you", messages: [user("you and me")], limit: 3 }).length, 1);
});
