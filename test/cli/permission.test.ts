import assert from "node:assert/strict";
import type { PassThrough } from "node:stream";
import { test } from "node:test";
import type { PermissionQuestion } from "../../packages/contract/src/host/run.ts";
import {
  oneAtATime,
  parseAnswer,
  questionText,
  readQuestionAnswer,
  terminalPermission,
} from "../../packages/cli/src/chat/permission-prompt.ts";
import { HeldOutput } from "../../packages/cli/src/run/held-output.ts";
import { until } from "../runner/until.ts";
import { fakeCli } from "./fake-cli.ts";

const question = (changes: Partial<PermissionQuestion> = {}): PermissionQuestion => ({
  toolName: "shell",
  summary: "rm -rf build",
  cwd: "/w",
  signal: new AbortController().signal,
  ...changes,
});

test("only y, a and s allow; any other text goes to the model", () => {
  const answers = ["y", " YES ", "a", "always", "s", "n", "No", "", "once"].map(parseAnswer);
  const kept = ["once", "once", "always", "always", "similar", "deny", "deny", "deny", "once"];
  assert.deepEqual(answers, kept);
  assert.deepEqual(["yy", " sure "].map(parseAnswer), [{ deny: "yy" }, { deny: "sure" }]);
});

test("the question shows the whole command and nothing in it can control the terminal", () => {
  const text = questionText(fakeCli(), question({ summary: "echo a\u001b[2K\r\nrm b" }));
  assert.equal(
    text,
    "Allow shell in /w?\n    echo a\\u001b[2K\n    rm b\n[y] once  [a] always here  [n] no, or type what to do instead: ",
  );
  const long = questionText(fakeCli(), question({ summary: "x\n".repeat(20).trimEnd() }));
  assert.match(long, /… 8 more lines/);
  const one = questionText(fakeCli(), question({ summary: "x\n".repeat(13) }));
  assert.match(one, /… 1 more line\n/);
});

test("the question shows what would change and what `always` would save", () => {
  const text = questionText(
    fakeCli(),
    question({ toolName: "write", summary: "a.ts", preview: "+ one\u202e\n+ two", rule: "write in src/**" }),
  );
  assert.equal(
    text,
    "Allow write in /w?\n    a.ts\n    │ + one\\u202e\n    │ + two\n[y] once  [a] always: write in src/**  [n] no, or type what to do instead: ",
  );
  const repeated = questionText(fakeCli(), question({ preview: "rm -rf build\n" }));
  assert.equal(repeated.split("rm -rf build").length, 2);
});

test("output of parallel work waits while a question is open", async () => {
  const cli = fakeCli({ env: { NO_COLOR: "1" } });
  cli.stderr.isTTY = true;
  const output = new HeldOutput();
  const activity = output.writer(cli.stderr);
  const ask = terminalPermission(cli, output);
  const answer = ask?.(question());
  await new Promise((resolve) => setImmediate(resolve));
  activity.write("• grep x\n");
  assert.match(cli.err(), /instead: $/);
  (cli.stdin as unknown as PassThrough).write("y\n");
  assert.equal(await answer, "once");
  assert.match(cli.err(), /instead: • grep x\n$/);
});

test("parallel questions are asked one after the other; a failed or aborted one does not hold up the rest", async () => {
  const open: string[] = [];
  let most = 0;
  const ask = oneAtATime(async ({ summary }) => {
    open.push(summary);
    most = Math.max(most, open.length);
    await new Promise((resolve) => setImmediate(resolve));
    open.pop();
    if (summary === "bad") throw new Error("terminal gone");
    return "once";
  });
  const aborted = AbortSignal.abort();
  const answers = await Promise.allSettled([
    ask(question({ summary: "1" })),
    ask(question({ summary: "bad" })),
    ask(question({ summary: "3", signal: aborted })),
    ask(question({ summary: "4" })),
  ]);
  assert.deepEqual(
    answers.map((answer) => (answer.status === "fulfilled" ? answer.value : "threw")),
    ["once", "threw", "deny", "once"],
  );
  assert.equal(most, 1);
});

test("a terminal is asked on standard error; an abort denies", async () => {
  const cli = fakeCli();
  cli.stderr.isTTY = true;
  const ask = terminalPermission(cli, new HeldOutput());
  assert.ok(ask);
  const first = ask(question());
  (cli.stdin as unknown as PassThrough).write("a\n");
  assert.equal(await first, "always");
  assert.match(cli.err(), /Allow shell in \/w\?/);
  const controller = new AbortController();
  const second = ask(question({ signal: controller.signal }));
  setImmediate(() => controller.abort());
  assert.equal(await second, "deny");
  assert.equal(cli.out(), "");
});

const form = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer", default: 30 } },
  required: ["name"],
};

test("a question for values shows them, and takes what is typed as values, completed with the defaults", () => {
  const asked = question({ summary: 'The MCP server "s" asks: Who?\nname: text, required', form });
  assert.equal(
    questionText(fakeCli(), asked),
    'The MCP server "s" asks: Who?\n    name: text, required\n[y] send what is shown  [n] no, or type values as name=value, name=value: ',
  );
  const read = (line: string) => readQuestionAnswer(asked, line);
  assert.deepEqual(read("name=Ann, the second, age=4"), { content: { name: "Ann, the second", age: 4 } });
  assert.deepEqual(read("name=Ann"), { content: { name: "Ann", age: 30 } });
  assert.deepEqual(read("n"), "deny");
  assert.deepEqual(read("use the other server"), { deny: "use the other server" });
  assert.deepEqual(read("y"), { problem: "This cannot be sent: name is required." });
  assert.deepEqual(read("name=Ann, age=old"), { problem: "This cannot be sent: age is a whole number." });
});

test("a wrong value is named, and the question asked again", async () => {
  const cli = fakeCli({ env: { NO_COLOR: "1" } });
  cli.stderr.isTTY = true;
  const ask = terminalPermission(cli, new HeldOutput());
  const answer = ask?.(question({ summary: "Who?", form }));
  (cli.stdin as PassThrough).write("age=old, name=Ann\n");
  await until(() => cli.err().includes("This cannot be sent: age is a whole number.\nWho?"));
  (cli.stdin as PassThrough).write("name=Ann, age=4\n");
  assert.deepEqual(await answer, { content: { name: "Ann", age: 4 } });
});
