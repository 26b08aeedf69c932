/** The tasks of a user's day, in their order. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../runner/until.ts";
import { PIXEL, type Day } from "./day-setting.ts";

export interface Task {
  name: string;
  run(day: Day): Promise<void>;
  /** Part of the short form. */
  isShort?: true;
  /** Its screen differs from run to run, for example an answer that was cut off. */
  isUnkept?: true;
}

type Run = Task["run"];

function task(name: string, run: Run, more: Omit<Task, "name" | "run"> = {}): Task {
  return { name, run, ...more };
}

const SHORT = { isShort: true } as const;

async function keys(day: Day, text: string): Promise<void> {
  for (const key of text) await day.terminal.press(key);
}

/** Sends words and waits for the answer to them. */
async function says(day: Day, words: string): Promise<void> {
  await day.terminal.types(words);
  await day.terminal.sees(new RegExp(`Done: ${words.slice(0, 20)}`));
}

export const TASKS: readonly Task[] = [
  task(
    "setup finds what the machine has",
    async ({ terminal }) => {
      await terminal.types('pagurus setup < /dev/null > setup.txt; echo "exit code $?"');
      await terminal.sees(/^exit code 0/m);
    },
    SHORT,
  ),
  task(
    "a bare command opens the chat",
    async (day) => {
      await day.chat();
      await day.terminal.sees(/⎇ quay|auto/);
    },
    SHORT,
  ),
  task("the first turn", (day) => says(day, "Greet the crew"), SHORT),
  task(
    "a table and code",
    async ({ terminal }) => {
      await terminal.types("Show the harbour");
      await terminal.sees(/│ Merle │ 4\s+│[^]*const berth = 4;/);
    },
    SHORT,
  ),
  task("words wrap", async ({ terminal }) => {
    await terminal.types("Long words");
    await terminal.sees(/harbourmaster\s*\n/);
    assert.doesNotMatch(terminal.screen(), /harbourm\s*\n/);
  }),
  task("a command's output while it runs", async ({ terminal }) => {
    await terminal.types("Count slowly");
    await terminal.sees(/│ tick 2/);
    assert.doesNotMatch(terminal.screen(), /tick 6/);
    await terminal.sees(/Done: Count slowly/);
  }),
  task(
    "Esc interrupts",
    async ({ terminal }) => {
      await terminal.types("Never answer");
      await terminal.sees(/word word/);
      await terminal.press("Escape");
      await terminal.sees(/aborted/);
    },
    { isShort: true, isUnkept: true },
  ),
  task(
    "words join the running turn",
    async (day) => {
      day.held = Promise.withResolvers();
      await day.terminal.types("Wait for me one");
      await day.terminal.sees(/Working/);
      await day.terminal.types("Use the north channel");
      await day.terminal.sees(/↳ joins the turn: Use the north/);
      day.held.resolve();
      await day.terminal.sees(/Done: Use the north/);
    },
    SHORT,
  ),
  task("words wait for the end of the turn", async (day) => {
    day.held = Promise.withResolvers();
    await day.terminal.types("Wait for me two");
    await day.terminal.sees(/Working/);
    await keys(day, "Later");
    await day.terminal.press("Tab");
    await day.terminal.sees(/⋯ after the turn: Later/);
    day.held.resolve();
    await day.terminal.sees(/› Later[^]*Done: that/);
  }),
  task(
    "what waits is taken back and edited",
    async (day) => {
      day.held = Promise.withResolvers();
      await day.terminal.types("Wait for me three");
      await day.terminal.sees(/Working/);
      await day.terminal.types("Joins");
      await keys(day, "Waits");
      await day.terminal.press("Tab");
      await day.terminal.sees(/after the turn: Waits/);
      await day.terminal.press("Up", "M-Up");
      await day.terminal.sees(/^ Joins\s*\n Waits/m);
      assert.doesNotMatch(day.terminal.screen(), /joins the turn|after the turn/);
      await day.terminal.press("C-c");
      day.held.resolve();
      await day.terminal.sees(/aborted|Done: Wait for me three/);
      await day.terminal.press("Escape", "Escape");
    },
    { isUnkept: true },
  ),
  task(
    "a change is a diff with line numbers",
    async ({ terminal }) => {
      await terminal.types("Fix the sign");
      await terminal.sees(/2 -\s+return a - b;\s*\n\s*2 \+\s+return a \+ b;/);
      await terminal.sees(/Done: Fix the sign/);
    },
    SHORT,
  ),
  task(
    "a question is answered by one key",
    async (day) => {
      await day.mode("ask");
      await day.terminal.types("Turn it round");
      await day.terminal.sees(/Allow edit in/);
      await day.terminal.press("y");
      await day.terminal.sees(/Done: Turn it round/);
    },
    SHORT,
  ),
  task(
    "words in place of an answer go to the model",
    async (day) => {
      await day.terminal.types("Light the lamp");
      await day.terminal.sees(/Allow shell in/);
      await keys(day, "use");
      await day.terminal.press("Space");
      await keys(day, "oil");
      await day.terminal.press("Enter");
      await day.terminal.sees(/› use oil[^]*Done: /);
    },
    { isUnkept: true },
  ),
  task("always allows the same command", async (day) => {
    await day.terminal.types("Light the lamp again");
    await day.terminal.sees(/Allow shell in/);
    await day.terminal.press("a");
    await day.terminal.sees(/Done: Light the lamp again/);
    await says(day, "Light the lamp once more");
    await day.mode("auto");
  }),
  task(
    "/diff",
    async ({ terminal }) => {
      await terminal.types("/diff");
      await terminal.sees(/› \/diff[^]*calc\.js[^]*return b \+ a;/);
      await terminal.sees(/1 file, \+1 −1 in "Turn it round"/);
    },
    SHORT,
  ),
  task(
    "a plan is made with reading tools, and carried out",
    async (day) => {
      await day.mode("plan mode");
      day.resetCalc();
      await day.terminal.types("Fix the sign by a plan");
      await day.terminal.sees(/Carry out this plan\?/);
      assert.match(readFileSync(join(day.setting.workspace, "calc.js"), "utf8"), /a - b/);
      await day.terminal.press("Down", "Enter");
      await day.terminal.sees(/Done: The plan is accepted/);
      await day.mode("auto");
    },
    SHORT,
  ),
  task(
    "a todo list",
    async ({ terminal }) => {
      await terminal.types("Plan the day");
      await terminal.sees(/\[x\] Read the chart\s*\n\s*\[>\] Sail\s*\n\s*\[ \] Moor/);
      await terminal.sees(/Done: Plan the day/);
    },
    SHORT,
  ),
  task("thinking by a key", async ({ terminal }) => {
    await terminal.press("M-t", "M-t");
    await terminal.sees(/thinking medium|messages\/model · auto/);
  }),
  task("a wrong model is refused", async ({ terminal }) => {
    await terminal.types("/model nowhere/othr");
    await terminal.sees(/› \/model nowhere\/othr\s+\S[^─]*nowhere/);
    assert.match(terminal.screen(), /^messages\/model · /m);
  }),
  task("a new line by Ctrl-J", async (day) => {
    await keys(day, "one");
    await day.terminal.press("C-j");
    await keys(day, "two");
    await day.terminal.sees(/^ one\s*\n two/m);
    await day.terminal.press("Enter");
    await day.terminal.sees(/› one\s*\n {2}two[^]*Done: that/);
  }),
  task("the menu of commands", async ({ terminal }) => {
    await terminal.press("/", "c", "o", "m");
    await terminal.sees(/\/compact/);
    await terminal.press("Escape", "C-u");
  }),
  task(
    "a file is completed and attached",
    async (day) => {
      await keys(day, "@light");
      await day.terminal.sees(/src\/lighthouse\.js/);
      await day.terminal.press("Tab", "Enter");
      await until(() => day.requests.some(({ text }) => text.includes("lamp();")));
      await day.terminal.sees(/lighthouse\.js[^]*Done: that/);
    },
    SHORT,
  ),
  task(
    "a picture from the clipboard",
    async (day) => {
      await day.terminal.press("C-v");
      await day.terminal.sees(/^ \[image 1\]/m);
      await says(day, "Describe the picture");
      assert.ok(day.requests.some(({ text }) => text.includes(PIXEL.slice(0, 40))));
    },
    SHORT,
  ),
  task(
    "a long paste is one mark",
    async (day) => {
      day.terminal.paste(Array.from({ length: 200 }, (_, index) => `line ${index}`).join("\n"));
      await day.terminal.sees(/\[paste #\d+ \+200 lines\]/);
      await day.terminal.press("Enter");
      await day.terminal.sees(/Done: that/);
      assert.ok(day.requests.some(({ text }) => text.includes("line 199")));
    },
    { isUnkept: true },
  ),
  task(
    "a command of the user's own",
    async ({ terminal }) => {
      await terminal.types("!echo from-the-shell");
      await terminal.sees(/│ from-the-shell/);
    },
    SHORT,
  ),
  task("the editor outside", async ({ terminal }) => {
    await terminal.press("x", "C-g");
    await terminal.sees(/^ Edited outside/m);
    await terminal.press("Enter");
    await terminal.sees(/Done: Edited outside/);
  }),
  task("an earlier input", async (day) => {
    await day.terminal.press("C-r");
    await day.terminal.sees(/Which earlier input/);
    await keys(day, "greet");
    await day.terminal.press("Enter");
    await day.terminal.sees(/^ Greet the crew/m);
    await day.terminal.press("C-u");
  }),
  task(
    "the whole conversation, searched",
    async (day) => {
      await day.terminal.press("C-o");
      await day.terminal.sees(/Ctrl-F/);
      await day.terminal.press("C-f");
      await keys(day, "merle");
      await day.terminal.sees(/Merle/);
      await day.terminal.press("Escape", "q");
      await day.terminal.sees(/messages\/model · auto/);
    },
    { isUnkept: true },
  ),
  task(
    "/search",
    async ({ terminal }) => {
      await terminal.types("/search berth");
      await terminal.sees(/assistant: .*berth/i);
    },
    SHORT,
  ),
  task(
    "/export and /copy",
    async (day) => {
      await day.terminal.types("/export day.md");
      await day.terminal.sees(/Exported to/);
      assert.match(readFileSync(join(day.setting.workspace, "day.md"), "utf8"), /Greet the crew/);
      await day.terminal.types("/copy");
      await day.terminal.sees(/Copied the last answer/);
    },
    SHORT,
  ),
  task(
    "what was sent and what it cost",
    async ({ terminal }) => {
      await terminal.types("/cost");
      await terminal.sees(/\$\d/);
      await terminal.types("/context");
      await terminal.sees(/tokens/);
    },
    { isUnkept: true },
  ),
  task(
    "a compaction, and on",
    async (day) => {
      await day.terminal.types("/compact");
      await day.terminal.sees(/Compacted|Not compacted/);
      await says(day, "Sail on");
    },
    { isShort: true, isUnkept: true },
  ),
  task(
    "/undo",
    async ({ terminal }) => {
      await terminal.types("/undo");
      await terminal.sees(/Undone: "Sail on"/);
      await terminal.sees(/^ Sail on/m);
      await terminal.press("C-u");
    },
    SHORT,
  ),
  task(
    "Esc Esc goes back, /tree returns",
    async (day) => {
      await says(day, "Another way");
      await day.terminal.press("Escape", "Escape");
      await day.terminal.sees(/before which message/);
      await day.terminal.press("Enter");
      await day.terminal.sees(/^ Another way/m);
      await day.terminal.press("C-u");
      await says(day, "Third way");
      await day.terminal.types("/tree");
      await day.terminal.sees(/○ Another way[^]*● Third way/);
      await day.terminal.press("Up", "Enter");
      await day.terminal.sees(/continues after "Another way"/);
    },
    SHORT,
  ),
  task(
    "/fork and /resume",
    async (day) => {
      await day.terminal.types("/fork copy");
      await day.terminal.sees(/This is a copy under "copy"/);
      // The one conversation of this configuration belongs to no folder, so it is named.
      await day.terminal.types("/resume main");
      await day.terminal.sees(/Done: [^]*^messages\/model · /m);
      assert.doesNotMatch(day.terminal.screen(), /There is no session/);
    },
    { isUnkept: true },
  ),
  task(
    "a narrow window while an answer streams",
    async (day) => {
      const before = day.terminal.size();
      await day.terminal.types("Stream a while");
      await day.terminal.sees(/wave/);
      for (const columns of [40, 70, 30]) {
        day.terminal.resize(columns, before.rows);
        await day.terminal.sees(/wave/);
      }
      await day.terminal.sees(/ashore/);
      day.terminal.resize(before.columns, before.rows);
      await day.terminal.sees(/wave wave[^]*ashore/);
    },
    { isUnkept: true },
  ),
  task(
    "after kill -9 the conversation is there",
    async (day) => {
      day.held = Promise.withResolvers();
      await day.terminal.types("Wait for me four");
      await day.terminal.sees(/Working/);
      execFileSync("pkill", ["-9", "-P", String(day.terminal.pid()), "-f", "main|launcher|pagurus"]);
      await day.terminal.sees(/Killed|exit code 137/);
      day.held.resolve();
      await day.terminal.types("stty sane");
      await day.chat();
      await day.terminal.sees(/Done: |Wait for me four/);
      await day.leave();
    },
    { isShort: true, isUnkept: true },
  ),
  task(
    "Codex and Claude Code continue it",
    async (day) => {
      for (const [runtime, model] of [
        ["codex", "responses/model"],
        ["claude-cli", "messages/model"],
      ] as const) {
        await day.chat("chat --continue --runtime", runtime, "--model", model);
        await day.terminal.sees(new RegExp(`${model} · ${runtime}`));
        await says(day, `Hello from ${runtime.slice(0, 5)}`);
        assert.ok(day.requests.at(-1)?.text.includes("Greet the crew") ?? false);
        await day.leave();
      }
    },
    { isUnkept: true },
  ),
  task(
    "a cost limit asks before a request",
    async (day) => {
      const { terminal } = day;
      await day.chat("chat --continue --max-cost 0.0000001");
      await terminal.types("Spend nothing");
      await terminal.sees(/A cost limit is reached[^]*\[y\] Allow \$[\d.]+ more\s[^]*\[n\] Stop/);
      assert.ok(!day.requests.some(({ text }) => text.includes("Spend nothing")));
      await terminal.press("n");
      await terminal.sees(/The next request was not sent/);
      await terminal.types("Spend a little");
      await terminal.sees(/\[y\] Allow \$[\d.]+ more/);
      await terminal.press("y");
      await terminal.sees(/Done: Spend a little/);
      await day.leave();
    },
    { isShort: true, isUnkept: true },
  ),
  task(
    "NO_COLOR, a dumb terminal and a pipe",
    async ({ terminal, setting }) => {
      await terminal.types(
        "clear; printf 'Ask by pipe\\n' | pagurus chat --continue > piped.txt; echo \"exit code $?\"",
      );
      await terminal.sees(/^exit code 0/m);
      const piped = readFileSync(join(setting.workspace, "piped.txt"), "utf8");
      assert.match(piped, /Done: Ask by pipe/);
      assert.doesNotMatch(piped, /\u001b/);
      await terminal.types("clear; TERM=dumb pagurus chat --continue");
      await terminal.sees(/^› *$/m);
      await terminal.press("C-d");
      await terminal.types("clear; NO_COLOR=1 pagurus");
      await terminal.sees(/^messages\/model · /m);
      await says({ terminal } as Day, "Speak without colours");
      assert.doesNotMatch(terminal.styled(), /\u001b\[(?:3[0-7]|9[0-7]|38)/);
      await terminal.press("C-d");
      assert.ok(existsSync(join(setting.workspace, "setup.txt")));
    },
    { isShort: true, isUnkept: true },
  ),
];
