import assert from "node:assert/strict";
import { test } from "node:test";
import { buildProgram } from "../../packages/cli/src/cli-program.ts";
import { FLAGS, peerArguments, VALUED } from "../../packages/cli/src/peer-arguments.ts";
import { OTHER_WORDS } from "../../packages/cli/src/usage-failure.ts";
import { command, fakeCli } from "./fake-cli.ts";

const act = async (): Promise<void> => undefined;
const words = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");

/** The command line as a user of another agent types it, and what it is here: at a terminal, and without one where that differs. */
const LINES: readonly (readonly [typed: string, seated: string, piped?: string])[] = [
  ["", "chat", ""],
  ['-p "hi"', 'run -- "hi"'],
  ["--print hi", "run -- hi"],
  ['"hi there" -p', 'run -- "hi there"'],
  ['"Fix the test"', 'chat -- "Fix the test"', 'run -- "Fix the test"'],
  ["-c", "chat --continue", "run --continue"],
  ["--continue hi", "chat --continue -- hi", "run --continue -- hi"],
  ['-c -p "and now?"', 'run --continue -- "and now?"'],
  ["--resume", "chat", "run --continue"],
  ["-r work", "chat --continue work", "run --continue work"],
  ["--resume=work -p hi", "run --continue work -- hi"],
  ['-r "Fix it"', 'chat -- "Fix it"', 'run --continue -- "Fix it"'],
  ["--model a/b -p hi", "run --model a/b -- hi"],
  ["--model=a/b", "chat --model=a/b", "run --model=a/b"],
  ["--permission-mode plan -p hi", "run --permission read-only -- hi"],
  ["--permission-mode=bypassPermissions", "chat --permission auto", "run --permission auto"],
  ["--permission-mode ask -p hi", "run --permission ask -- hi"],
  ["--permission-mode nosuch -p hi", "run --permission nosuch -- hi"],
  ["--dangerously-skip-permissions -p hi", "run --permission auto -- hi"],
  ["--yolo", "chat --permission auto", "run --permission auto"],
  ["-p hi --output-format json", "run --json -- hi"],
  ["-p --verbose --output-format=stream-json hi", "run --json -- hi"],
  ["-p hi --output-format text", "run -- hi"],
  ["-p hi --append-system-prompt short", "run --context system=short -- hi"],
  ['-p -- "--resume"', 'run -- "--resume"'],
  ["--effort max -p hi", "run --thinking high -- hi"],
  ["-i shot.png -p hi", "run -i shot.png -- hi"],
  ["exec hi", "run -- hi"],
  ["exec - --json", "run --json -- -"],
  ["exec --full-auto hi", "run --permission sandbox -- hi"],
  ["--permission-mode acceptEdits -p hi", "run --permission sandbox -- hi"],
  ["exec --cd sub --model a/b hi", "run --cwd sub --model a/b -- hi"],
  ['exec resume --last "and now?"', 'run --continue -- "and now?"'],
  ["exec resume work hi", "run --continue work -- hi"],
  ["resume", "chat", "run --continue"],
  ["resume --last", "chat --continue", "run --continue"],
  ["resume work", "chat --continue work", "run --continue work"],
  ["continue", "chat", "run --continue"],
  ["run hi --permission-mode default", "run hi --permission ask"],
  ["run --resume work hi", "run --continue work hi"],
  ["chat --resume", "chat --continue"],
  ["run --context --resume=x hi", "run --context --resume=x hi"],
  ["run -- --resume", "run -- --resume"],
  ["-v", "--version"],
  ["--no-such-option", "--no-such-option"],
  ["status --json", "status --json"],
  ["-h", "-h"],
];

test("Command lines of Claude Code, Codex and others become the same of this program", () => {
  for (const [typed, seated, piped = seated] of LINES) {
    assert.deepEqual([...peerArguments(words(typed), true)], words(seated), typed);
    assert.deepEqual([...peerArguments(words(typed), false)], words(piped), `${typed} without a terminal`);
  }
});

test("The options that are read before a command are those of run", async () => {
  const run = (await buildProgram(fakeCli(), act, "run")).commands.find((one) => one.name() === "run");
  const options = run?.options ?? [];
  const flags = (valued: boolean): string[] =>
    options
      .filter((option) => (option.required || option.optional) === valued)
      .flatMap(({ short, long }) => [short, long])
      .filter((flag) => flag !== undefined)
      .filter((flag) => flag !== "-p" && flag !== "--continue")
      .toSorted();
  assert.deepEqual(flags(true), [...VALUED].toSorted());
  assert.deepEqual(flags(false), [...FLAGS].toSorted());
});

test("A prompt with -p is one turn", async () => {
  const { pagurus } = await command(["-p", "hi", "--model", "a/b"], { input: "" });
  assert.deepEqual(
    pagurus.requests.map(({ prompt, model }) => [prompt, model]),
    [["hi", "a/b"]],
  );
});

test("A chat with a prompt begins with it", async () => {
  const { pagurus } = await command(["chat", "First of all"], { input: "second\n" });
  assert.deepEqual(
    pagurus.requests.map(({ prompt }) => prompt),
    ["First of all", "second"],
  );
});

test("The help lists each command in a group", async () => {
  const program = await buildProgram(fakeCli(), act);
  const help = program.helpInformation();
  const headings = [...help.matchAll(/^(\S.*):$/gm)].map(([, heading]) => heading);
  assert.deepEqual(headings, [
    "Options",
    "Start",
    "Every day",
    "Look inside",
    "Keep running",
    "Extend",
    "Maintain",
  ]);
});

test("The command that is named for another program's word exists", async () => {
  const program = await buildProgram(fakeCli(), act);
  for (const [word, line] of Object.entries(OTHER_WORDS)) {
    assert.ok(!program.commands.some((one) => one.name() === word), `${word} is a command`);
    let at = program;
    for (const part of words(line)) at = at.commands.find((one) => one.name() === part) ?? at;
    assert.ok(at !== program || line === "--version", `${word}: pagurus ${line}`);
    const { code, err } = await command(words(word), { input: "" });
    assert.equal(code, 2);
    const [last = "", ...above] = words(word).toReversed();
    const about = above.length === 0 ? "There is" : `pagurus ${above.join(" ")} has`;
    assert.equal(err, `pagurus: ${about} no command "${last}"; use pagurus ${line}. [usage_invalid]\n`, word);
  }
});
