/** The chat on a full terminal (tmux): what a person of Claude Code, Codex or pi expects of the keys, the input and the screen. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { startServer, type ModelServer, type RecordedRequest, type ReplyStep } from "../../servers/server.ts";
import { needTerminal, Terminal } from "../../servers/terminal.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";

const MARKDOWN = [
  "# Harbour",
  "| ship | berth |",
  "| --- | --- |",
  "| Merle | 4 |",
  "",
  "```js",
  "const berth = 4;",
  "```",
].join("\n");
/** A PNG of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LONG_WORDS = "harbourmaster ".repeat(30).trim();
/** A command that prints slowly. */
const SLOW = "for i in 1 2 3 4 5 6; do echo tick $i; sleep 0.5; done";

let setting: Setting;
let server: ModelServer;
let terminal: Terminal;
let held = Promise.withResolvers<void>();

/** The newest message of the person in a request. */
function newest({ body }: RecordedRequest): string {
  const { messages } = body as { messages: { role: string; content: unknown }[] };
  return JSON.stringify(messages.findLast(({ role }) => role === "user")?.content ?? "");
}

/** Whether the request follows a tool's result. */
function hasResult({ body }: RecordedRequest): boolean {
  return (body as { messages: { role: string }[] }).messages.at(-1)?.role === "tool";
}

async function reply(request: RecordedRequest): Promise<ReplyStep> {
  const words = newest(request);
  if (/Wait for me/.test(words) && !/Hurry/.test(words)) {
    await held.promise;
    return {
      toolCalls: [{ id: `w${server.requests.length}`, name: "shell", arguments: { command: "true" } }],
    };
  }
  if (/Never answer/.test(words)) return { text: "word ".repeat(500), chunkSize: 5, delayMs: 100 };
  if (/Run slowly/.test(words) && !hasResult(request))
    return { toolCalls: [{ id: `s${server.requests.length}`, name: "shell", arguments: { command: SLOW } }] };
  if (/Show the harbour/.test(words)) return { text: MARKDOWN };
  if (/Long words/.test(words)) return { text: LONG_WORDS };
  if (/Change it/.test(words) && !hasResult(request)) {
    const edit = { path: "calc.js", old_text: "return a - b;", new_text: "return a + b;" };
    return { toolCalls: [{ id: `e${server.requests.length}`, name: "edit", arguments: edit }] };
  }
  return { text: `Answer to ${words.slice(0, 40)}` };
}

before(async () => {
  needTerminal();
  setting = makeSetting();
  server = await startServer({ protocol: "openai-completions", script: reply });
  const config = modelConfig(
    "openai-completions",
    server.url,
    { input: ["text", "image"] },
    { agents: { defaults: { permission: { mode: "auto" } } } },
  );
  writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  writeFileSync(join(setting.workspace, "calc.js"), "function add(a, b) {\n  return a - b;\n}\n");
  mkdirSync(join(setting.workspace, "src"));
  writeFileSync(join(setting.workspace, "src", "lighthouse.js"), "lamp();\n");
  mkdirSync(join(setting.workspace, ".git"));
  writeFileSync(join(setting.workspace, ".git", "HEAD"), "ref: refs/heads/quay\n");
  const program = join(setting.root, "pagurus");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${LAUNCHER}" "$@"\n`);
  chmodSync(program, 0o755);
  const editor = join(setting.root, "editor.sh");
  writeFileSync(editor, '#!/bin/sh\nprintf "edited outside" > "$1"\n');
  chmodSync(editor, 0o755);
  const { NO_COLOR: _, ...env } = setting.env;
  const path = [
    setting.root,
    join(setting.root, ".local", "bin"),
    dirname(process.execPath),
    env["PATH"] ?? "",
  ].join(delimiter);
  terminal = new Terminal(setting.root, setting.workspace, { ...env, PATH: path, EDITOR: editor });
  await terminal.sees(/ready>/);
  await terminal.types('pagurus; echo "exit code $?"');
  await terminal.sees(/test\/model · auto/);
});

after(async () => {
  terminal.end();
  await server.close();
  rmSync(setting.root, { recursive: true, force: true, maxRetries: 5 });
});

/** `PAGURUS_SCREENS_FOLDER=<folder>` keeps the screen after each test, with its colours. */
afterEach((context) => {
  const folder = process.env["PAGURUS_SCREENS_FOLDER"];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${context.name.replaceAll(/\W+/g, "-").slice(0, 80)}.ansi`), terminal.styled());
});

test("the input has the focus at the start, and a line below it names model, mode and branch", async () => {
  await terminal.sees(/─{20,}\n\s*\n─{20,}\ntest\/model · auto.* · ⎇ quay/);
});

test("an answer shows tables, code and bold text, and the message before it", async () => {
  await terminal.types("Show the harbour");
  await terminal.sees(/› Show the harbour/);
  await terminal.sees(/│ Merle │ 4\s+│/);
  assert.match(terminal.screen(), /const berth = 4;/);
});

test("a line breaks between words", async () => {
  await terminal.types("Long words");
  await terminal.sees(/harbourmaster\s*\n/);
  assert.doesNotMatch(terminal.screen(), /harbourm\s*\n|\n\s*aster/);
});

test("a running command shows its output, and the input takes words beside it", async () => {
  await terminal.types("Run slowly");
  await terminal.sees(/│ tick 2/);
  await terminal.press("a", "b", "c");
  await terminal.sees(/^ abc/m);
  await terminal.sees(/│ tick 5/);
  await terminal.press("C-u");
  await terminal.sees(/Answer to/);
});

test("Esc interrupts the answer and leaves the chat open", async () => {
  await terminal.types("Never answer");
  await terminal.sees(/word word/);
  await terminal.press("Escape");
  await terminal.sees(/aborted/);
  await terminal.sees(/test\/model · auto/);
});

test("words sent during a turn are shown as pending and join it; those after Tab wait and come back by Up", async () => {
  held = Promise.withResolvers();
  await terminal.types("Wait for me");
  await terminal.sees(/Working/);
  await terminal.types("Hurry up");
  await terminal.sees(/↳ joins the turn: Hurry up/);
  for (const key of ["l", "a", "t", "e", "r", "Tab"]) await terminal.press(key);
  await terminal.sees(/⋯ after the turn: later/);
  await terminal.press("Up");
  await terminal.sees(/^ later/m);
  await terminal.press("C-u");
  held.resolve();
  await terminal.sees(/› Hurry up/);
  await terminal.sees(/Answer to .*Hurry/);
  assert.doesNotMatch(terminal.screen(), /after the turn/);
});

test("words that wait to join the turn come back by Up, and it does not get them", async () => {
  held = Promise.withResolvers();
  await terminal.types("Wait for me");
  await terminal.sees(/Working/);
  await terminal.types("Never mind these");
  await terminal.sees(/↳ joins the turn: Never mind these/);
  await terminal.press("Up");
  await terminal.sees(/^ Never mind these/m);
  assert.doesNotMatch(terminal.screen(), /joins the turn/);
  await terminal.press("C-u");
  const before = server.requests.length;
  await terminal.types("Hurry now");
  held.resolve();
  await terminal.sees(/Answer to .*Hurry now/);
  const after = server.requests.slice(before);
  assert.ok(after.length > 0 && after.every(({ text }) => !text.includes("Never mind these")));
});

test("a change is shown as a diff with the numbers of its lines", async () => {
  await terminal.types("Change it");
  await terminal.sees(/2 -\s+return a - b;/);
  await terminal.sees(/2 \+\s+return a \+ b;/);
});

test("Ctrl-J makes a new line, and one turn has both lines", async () => {
  for (const key of ["o", "n", "e", "C-j", "t", "w", "o"]) await terminal.press(key);
  await terminal.sees(/^ one\s*\n two/m);
  await terminal.press("Enter");
  await terminal.sees(/› one\s*\n {2}two/);
});

test("a slash opens the commands with their descriptions", async () => {
  await terminal.press("/", "c", "o", "m");
  await terminal.sees(/\/compact \[focus\]\s+Summarize/);
  await terminal.press("Escape", "C-u");
});

test("an @ completes files by parts of their names", async () => {
  await terminal.press("@", "l", "i", "g", "h", "t");
  await terminal.sees(/src\/lighthouse\.js/);
  await terminal.press("Tab");
  await terminal.sees(/^ @src\/lighthouse\.js/m);
  await terminal.press("C-u");
});

test("an exclamation mark runs a command of the person, and the model sees its output with the next input", async () => {
  await terminal.types("!echo from-the-shell");
  await terminal.sees(/│ from-the-shell/);
  const before = server.requests.length;
  await terminal.types("What did it print?");
  await terminal.sees(/Answer to .*What did/);
  assert.ok(server.requests[before]?.text.includes("from-the-shell"));
});

test("Ctrl-G edits the input in the person's editor", async () => {
  await terminal.press("x", "C-g");
  await terminal.sees(/^ edited outside/m);
  await terminal.press("C-u");
});

test("Ctrl-R finds an earlier input", async () => {
  await terminal.press("C-r");
  await terminal.sees(/Which earlier input/);
  for (const key of ["h", "a", "r", "b"]) await terminal.press(key);
  await terminal.press("Enter");
  await terminal.sees(/^ Show the harbour/m);
  await terminal.press("C-u");
});

/** Presses the key of the permission mode until the line below names this one. */
async function chooseMode(mode: string): Promise<void> {
  for (let presses = 0; presses < 8; presses += 1) {
    if (new RegExp(`^test/model · ${mode} ·`, "m").test(terminal.screen())) return;
    await terminal.press("BTab");
  }
  assert.fail(`Shift-Tab does not lead to ${mode}`);
}

test("Shift-Tab changes the permission mode, and the line below says so", async () => {
  for (const mode of ["read-only", "ask", "auto"]) await chooseMode(mode);
});

test("Ctrl-O opens the whole conversation, q leaves it", async () => {
  await terminal.press("C-o");
  await terminal.sees(/Ctrl-F searches/);
  await terminal.press("C-f");
  for (const key of ["m", "e", "r", "l", "e"]) await terminal.press(key);
  await terminal.sees(/Merle/);
  await terminal.press("Escape");
  await terminal.press("q");
  await terminal.sees(/test\/model · auto/);
});

test("/thinking chooses how much the model thinks", async () => {
  await terminal.types("/thinking high");
  await terminal.sees(/The next turns of this chat think: high/);
  await terminal.sees(/· thinking high/);
});

test("a question is answered by one key, and words instead of a key go to the model", async () => {
  await chooseMode("ask");
  writeFileSync(join(setting.workspace, "calc.js"), "function add(a, b) {\n  return a - b;\n}\n");
  await terminal.types("Change it again");
  await terminal.sees(/Allow edit in/);
  await terminal.press("y");
  await terminal.sees(/✓ edit/);
});

test("/rewind picks a message by its words and puts it back into the input", async () => {
  await terminal.types("/rewind");
  await terminal.sees(/before which message/);
  await terminal.press("Enter");
  await terminal.sees(/^ Change it again/m);
  await terminal.press("C-u");
});

test("Esc twice on an empty input goes back to an earlier message, and with words discards them", async () => {
  for (const key of ["o", "d", "d"]) await terminal.press(key);
  await terminal.press("Escape");
  await terminal.sees(/Esc again discards the input/);
  await terminal.press("Escape");
  await terminal.sees(/─\n\s*\n─/);
  await terminal.press("Up");
  await terminal.sees(/^ odd/m);
  await terminal.press("C-e", "C-u", "Escape");
  await terminal.sees(/Esc again goes back to an earlier message/);
  await terminal.press("Escape");
  await terminal.sees(/before which message/);
  await terminal.press("Escape");
});

test("/diff shows what the last turn changed, and the screen has the lines with their numbers", async () => {
  await terminal.types("clear the view");
  await terminal.sees(/Answer to .*clear the view/);
  await terminal.types("/diff");
  await terminal.sees(/› \/diff\s*\n\s*\n✓ calc\.js\s*\n\s*2 -\s+return a - b;\s*\n\s*2 \+\s+return a \+ b;/);
  await terminal.sees(/1 file, \+1 −1 in "Change it/);
});

test("/tree shows the branch that a rewind left, and continues on it", async () => {
  await terminal.types("/undo");
  await terminal.sees(/Undone/);
  await terminal.press("C-u");
  await terminal.types("another way");
  await terminal.sees(/Answer to .*another way/);
  await terminal.types("/tree");
  await terminal.sees(/├─ ○ clear the view[^]*└─ ● another way\s+now/);
  await terminal.press("Up", "Enter");
  await terminal.sees(/continues after "clear the view"/);
});

test("Alt-T changes how much the model thinks, and the line below says so", async () => {
  await terminal.press("M-,");
  await terminal.sees(/· thinking medium/);
  await terminal.press("M-t");
  await terminal.sees(/· thinking high/);
});

test("plan mode lets tools only read, and carries the plan out once it is accepted", async () => {
  await terminal.types("/plan on");
  await terminal.sees(/test\/model · plan mode/);
  writeFileSync(join(setting.workspace, "calc.js"), "function add(a, b) {\n  return a - b;\n}\n");
  await terminal.types("Change it by a plan");
  await terminal.sees(/the permission mode is read-only/);
  await terminal.sees(/Carry out this plan\?/);
  const planned = server.requests.at(-1)?.text ?? "";
  assert.match(planned, /Plan mode: the user wants a plan/);
  await terminal.press("Down", "Enter");
  await terminal.sees(/› The plan is accepted/);
  await terminal.sees(/test\/model · ask/);
  await terminal.sees(/Answer to .*Plan mode is over/);
});

test("Ctrl-V puts the picture of the clipboard into the input, and the model gets it", async () => {
  const bin = join(setting.root, ".local", "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(setting.root, "clip.png"), Buffer.from(PIXEL, "base64"));
  writeFileSync(join(bin, "xclip"), '#!/bin/sh\nexec cat "$HOME/clip.png"\n');
  chmodSync(join(bin, "xclip"), 0o755);
  await terminal.press("C-v");
  await terminal.sees(/^ \[image 1\]/m);
  await terminal.types("What is on it?");
  await terminal.sees(/Answer to .*image/);
  assert.ok(server.requests.at(-1)?.text.includes(PIXEL.slice(0, 40)));
});

test("a chat that begins again shows the earlier messages and knows the earlier inputs", async () => {
  await terminal.press("C-d");
  await terminal.sees(/exit code 0/);
  await terminal.types("clear; pagurus");
  await terminal.sees(/› What did it print\?/);
  await terminal.press("Up");
  await terminal.sees(/What is on it\?/);
  await terminal.press("C-u", "C-d");
});
