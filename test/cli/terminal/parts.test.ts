import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { visibleWidth } from "@earendil-works/pi-tui";
import type { PermissionAnswer, PermissionQuestion } from "../../../packages/contract/src/host/run.ts";
import { changesOfCall } from "../../../packages/host/src/command/file-changes.ts";
import { TurnChoices } from "../../../packages/cli/src/chat/turn-choices.ts";
import { InputQueue } from "../../../packages/cli/src/chat/input-queue.ts";
import { ToolBlock } from "../../../packages/cli/src/terminal/blocks.ts";
import { Twice } from "../../../packages/cli/src/terminal/twice.ts";
import { branchOf } from "../../../packages/cli/src/terminal/branch.ts";
import { Completion } from "../../../packages/cli/src/terminal/completion.ts";
import { InputHistory } from "../../../packages/cli/src/terminal/input-history.ts";
import { QuestionPanel } from "../../../packages/cli/src/terminal/question-panel.ts";
import { StatusLine } from "../../../packages/cli/src/terminal/status-line.ts";
import { themeOf } from "../../../packages/cli/src/terminal/theme.ts";

const theme = themeOf(false);

function question(more: Partial<PermissionQuestion> = {}): PermissionQuestion {
  const { signal } = new AbortController();
  return { toolName: "shell", summary: "rm -r build", rule: "shell: rm *", cwd: "/work", signal, ...more };
}

function letters(word: string): string[] {
  return Array.from(word);
}

/** The answer after these keys; undefined if the question is still open. */
function answered(keys: readonly string[], asked = question()): PermissionAnswer | undefined {
  let answer: PermissionAnswer | undefined;
  const panel = new QuestionPanel(asked, { theme, rows: () => 24, done: (given) => (answer = given) });
  for (const key of keys) panel.handleInput(key);
  return answer;
}

test("a question takes a letter, a number, the arrows, Esc, or words", () => {
  assert.equal(answered(["y"]), "once");
  assert.equal(answered(["a"]), "always");
  assert.equal(answered(["2"]), "always");
  assert.equal(answered(["\u001b[B", "\r"]), "always");
  assert.equal(answered(["\u001b"]), "deny");
  assert.equal(answered(["n"]), "deny");
  assert.deepEqual(answered([...letters("use mv"), "\r"]), { deny: "use mv" });
  assert.deepEqual(answered(["\t", ...letters("yellow"), "\r"]), { deny: "yellow" });
  assert.equal(answered([...letters("u"), "\u001b"]), undefined);
});

test("a question for values sends those that are typed, and names one that does not fit", () => {
  const form = { type: "object", properties: { port: { type: "integer" } }, required: ["port"] };
  const asked = question({ form });
  assert.deepEqual(answered([...letters("port=80"), "\r"], asked), { content: { port: 80 } });
  assert.equal(answered([...letters("port=many"), "\r"], asked), undefined);
});

test("a question fits into a small window", () => {
  const asked = question({ summary: "x\n".repeat(50), preview: "y\n".repeat(200) });
  const panel = new QuestionPanel(asked, { theme, rows: () => 16, done: () => undefined });
  assert.ok(panel.render(40).length <= 16, String(panel.render(40).length));
});

test("completion offers commands by name, values of an argument, and files by parts of their names", async () => {
  const completion = new Completion({
    commands: () =>
      Promise.resolve([
        { name: "model", usage: "[ref]", summary: "Choose the model." },
        { name: "compact", usage: "", summary: "Summarize." },
      ]),
    values: (command) =>
      Promise.resolve(command === "model" ? [{ value: "lab/large", label: "lab/large" }] : []),
    files: () => Promise.resolve(["src/", "src/main.ts", "my notes.md"]),
  });
  const offered = async (line: string): Promise<string[] | undefined> => {
    const { signal } = new AbortController();
    const found = await completion.getSuggestions([line], 0, line.length, { signal });
    return found?.items.map(({ value }) => value);
  };
  assert.deepEqual(await offered("/mo"), ["model"]);
  assert.deepEqual(await offered("/model "), ["lab/large"]);
  assert.equal(await offered("/model lab/large"), undefined);
  assert.deepEqual(await offered("see @mats"), ["src/main.ts"]);
  assert.equal(await offered("mail a@b"), undefined);
  const put = (line: string, value: string, prefix: string): string | undefined =>
    completion.applyCompletion([line], 0, line.length, { value, label: value }, prefix).lines[0];
  assert.equal(put("see @not", "my notes.md", "@not"), 'see @"my notes.md" ');
  assert.equal(put("see @sr", "src/", "@sr"), "see @src/");
  assert.equal(put("/mo", "model", "/mo"), "/model ");
});

test("the history keeps inputs over chats, those of the folder nearest, and skips a torn line", async () => {
  const home = mkdtempSync(join(tmpdir(), "pagurus-history-"));
  const file = join(home, "deep", "history.jsonl");
  const first = new InputHistory(file, "/app");
  await first.load();
  first.add("one");
  first.add("one");
  first.add("two\nlines");
  await first.close();
  const other = new InputHistory(file, "/other");
  await other.load();
  other.add("elsewhere");
  await other.close();
  writeFileSync(file, `${readFileSync(file, "utf8")}{"text":"to`);
  const again = new InputHistory(file, "/app");
  await again.load();
  assert.deepEqual(again.texts, ["elsewhere", "one", "two\nlines"]);
  rmSync(home, { recursive: true });
});

test("an edit is shown with the numbers of its lines and two lines around it", () => {
  const args = { path: "a.js", old_text: "a\nb\nold\nc\nd\ne", new_text: "a\nb\nnew\nmore\nc\nd\ne" };
  const [change] = changesOfCall("edit", args, 'Edited "a.js" at line 10.');
  assert.deepEqual(
    change?.lines.map(({ kind, number, text }) => `${kind} ${number} ${text}`),
    ["same 10 a", "same 11 b", "removed 12 old", "added 12 new", "added 13 more", "same 14 c", "same 15 d"],
  );
  assert.deepEqual(changesOfCall("shell", { command: "ls" }, ""), []);
});

test("the line below the input leaves out the parts that do not fit, from the end", () => {
  const line = new StatusLine(theme);
  line.set({
    model: "lab/large",
    permission: "ask",
    branch: "main",
    context: { tokens: 500, budget: 1_000 },
  });
  assert.match(line.render(80)[0] ?? "", /^lab\/large · ask · .*50 % of 1,000 · ⎇ main$/);
  assert.equal(line.render(16)[0], "lab/large · ask");
  line.hint("Ctrl-C again leaves");
  assert.equal(line.render(80)[0], "Ctrl-C again leaves");
});

test("the branch is read from the files of the repository, also in a worktree and at a detached commit", () => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-branch-"));
  assert.equal(branchOf(root), undefined);
  const git = join(root, "app", ".git");
  mkdirSync(join(git, "worktrees", "fix"), { recursive: true });
  writeFileSync(join(git, "HEAD"), "ref: refs/heads/feature/quay\n");
  assert.equal(branchOf(join(root, "app")), "feature/quay");
  writeFileSync(join(git, "HEAD"), `${"0123456789".repeat(4)}\n`);
  assert.equal(branchOf(join(root, "app")), "01234567");
  writeFileSync(join(git, "worktrees", "fix", "HEAD"), "ref: refs/heads/fix\n");
  mkdirSync(join(root, "fix", "src"), { recursive: true });
  writeFileSync(join(root, "fix", ".git"), "gitdir: ../app/.git/worktrees/fix\n");
  assert.equal(branchOf(join(root, "fix", "src")), "fix");
  rmSync(root, { recursive: true });
});

test("the queue gives back what waits after the turn, then what the turn has not taken", () => {
  const shown: string[] = [];
  const queue = new InputQueue((steering, queued) => shown.push([...steering, ...queued].join()));
  queue.steer("joins");
  queue.steer("taken");
  queue.push("later");
  const fromTurn = (text: string): boolean => text === "joins";
  assert.equal(queue.takeBack(fromTurn), "later");
  // The turn has this one already.
  assert.equal(queue.takeBack(fromTurn), undefined);
  queue.joined();
  assert.equal(
    queue.takeBack(() => false),
    undefined,
  );
  assert.equal(shown.at(-1), "taken");
});

test("the key of the permission mode passes all modes but that for programs, then planning, and begins again", () => {
  const choices = new TurnChoices({});
  choices.configured = "ask";
  const seen: string[] = [];
  for (; !seen.includes(choices.shownMode); choices.nextMode()) seen.push(choices.shownMode);
  for (const mode of ["ask", "auto", "read-only", "plan mode"]) assert.ok(seen.includes(mode), mode);
  assert.equal(seen.includes("deny"), false);
  assert.equal(choices.shownMode, "ask");
});

test("turns that plan may only read, know it, and keep the other context", () => {
  const choices = new TurnChoices({ permission: "auto" });
  const other = { additionalContext: { place: { value: "the quay", kind: "untrusted" as const } } };
  assert.deepEqual(choices.planning(other), other);
  choices.apply({ type: "plan", isOn: true });
  const { permission, additionalContext } = choices.planning(other);
  assert.equal(permission, "read-only");
  assert.deepEqual(Object.keys(additionalContext ?? {}), ["place", "pagurus-plan-mode"]);
  choices.apply({ type: "permission", mode: "ask" });
  assert.equal(choices.shownMode, "ask");
  const after = choices.planning({});
  assert.equal(after.permission, undefined);
  assert.match(after.additionalContext?.["pagurus-plan-mode"]?.value ?? "", /Plan mode is over/);
});

test("the keys of thinking raise and lower the level, and stop at the ends", () => {
  const choices = new TurnChoices({});
  const seen = ([1, 1, 1, 1, -1, -1, -1, -1] as const).map((by) => {
    choices.nextThinking(by);
    return choices.options.thinking;
  });
  assert.deepEqual(seen, ["low", "medium", "high", "high", "medium", "low", "off", "off"]);
  const down = new TurnChoices({});
  down.nextThinking(-1);
  assert.equal(down.options.thinking, "high");
});

test("a key that acts when pressed twice needs both within a moment", () => {
  const twice = new Twice();
  assert.equal(twice.press(0), false);
  assert.equal(twice.press(500), true);
  assert.equal(twice.press(600), false);
  assert.equal(twice.press(5_000), false);
});

test("no line of a tool's call is wider than the terminal", () => {
  const long = "a denial with many words ".repeat(20);
  for (const isError of [true, false]) {
    const block = new ToolBlock("edit", long, theme);
    block.push(long);
    const check = (): void => {
      for (const width of [12, 40, 100])
        for (const line of [...block.render(width), ...block.whole(width)])
          assert.ok(visibleWidth(line) <= width, line);
    };
    check();
    block.end({ summary: long, isError, text: isError ? "" : long });
    check();
  }
});
