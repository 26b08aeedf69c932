import assert from "node:assert/strict";
import { test } from "node:test";
import type { PermissionRule } from "../../packages/core/src/config/config-types.ts";
import type { PermissionAnswer, PermissionQuestion } from "../../packages/contract/src/host/run.ts";
import type { Access } from "../../packages/host/src/tool/host-tool.ts";
import { createPermissions } from "../../packages/host/src/tool/tool-permission.ts";
import { shellPattern } from "../../packages/host/src/tool/shell/shell-pattern.ts";

const shell = (command: string, folder = "/ws"): Access => ({
  kind: "shell",
  command,
  folder: { path: folder, shown: "", inside: true },
});

function asked(answer: PermissionAnswer) {
  const questions: PermissionQuestion[] = [];
  const rules: PermissionRule[] = [];
  const permissions = createPermissions({
    permission: { mode: "ask" },
    root: "/ws",
    ask: async (question) => {
      questions.push(question);
      return answer;
    },
    remember: async (rule) => void rules.push(rule),
  });
  const refusal = (access: Access): Promise<string | undefined> =>
    permissions.refusal("shell", { access }, new AbortController().signal);
  return { questions, rules, refusal };
}

test("a question about a shell command offers a rule for all like it, in its folder (finding D1)", async () => {
  const { questions, rules, refusal } = asked("similar");
  assert.equal(await refusal(shell("npm test -- a")), undefined);
  assert.equal(questions[0]?.similar, "any `npm test …` in /ws");
  assert.deepEqual(rules, [{ tool: "shell", cwd: "/ws", match: "npm test *" }]);
  for (const same of ["npm test -- b", "npm test"]) assert.equal(await refusal(shell(same)), undefined);
  assert.equal(await refusal(shell("npm test", "/ws/sub")), undefined);
  assert.equal(questions.length, 1);
  for (const other of ["npm test && rm -rf /", "npm tests", "npm run build", "npm test > x"])
    await refusal(shell(other));
  await refusal(shell("npm test", "/other"));
  assert.equal(questions.length, 6);
});

test("no wider rule is offered where further words could run any program (finding D1)", async () => {
  const offered: [string, string | undefined][] = [
    ["npm run build -- --watch", "npm run build"],
    ["git status -s", "git status"],
    ["cargo test x", "cargo test"],
    ["pytest -k one", "pytest"],
    ["make all", "make all"],
    ...[
      "npm run",
      "npm exec x",
      "npm install left-pad",
      "npx vitest",
      "uv run x",
      "docker run -v /:/x y",
      "git config core.pager x",
      "git -c a=b status",
      "go run evil.example/x",
      "rm -rf build",
      "bash -c ls",
      "node x.js",
      "sudo npm test",
      "CI=1 npm test",
      "npm test; rm x",
      "npm test $(x)",
      "npm test \\\n x",
      "./npm test",
      "",
    ].map((command): [string, undefined] => [command, undefined]),
  ];
  for (const [command, pattern] of offered) assert.equal(shellPattern(command), pattern, command);
  const { questions, rules, refusal } = asked("similar");
  assert.match((await refusal(shell("rm -rf build"))) ?? "", /user said no/);
  assert.equal(questions[0]?.similar, undefined);
  assert.deepEqual(rules, []);
});

test("any git command is offered for few subcommands, and never allows an option that runs or writes (finding D1)", async () => {
  for (const first of "grep fetch push pull clone archive difftool mergetool log add commit rebase".split(
    " ",
  ))
    assert.equal(shellPattern(`git ${first} x`), undefined, first);
  assert.equal(shellPattern("git diff --output=F"), undefined);
  const { questions, rules, refusal } = asked("similar");
  await refusal(shell("git diff a.ts"));
  assert.deepEqual(rules, [{ tool: "shell", cwd: "/ws", match: "git diff *" }]);
  for (const same of ["git diff", "git diff --stat --word-diff -- a.ts 'b c.ts'", "git diff -U5 src/*.ts"])
    assert.equal(await refusal(shell(same)), undefined);
  assert.equal(questions.length, 1);
  const written = String.raw`--output=F|--outp=F|--output F|--ext-diff|--ext|"--output=F"|--out''put=F|--out\put=F`;
  const expanded = String.raw`$X|$'\x2d-output=F'|*|-*|-Ox|-wOx|-- a --output=F`;
  const risky = [...written.split("|"), ...expanded.split("|")];
  for (const words of risky) assert.notEqual(await refusal(shell(`git diff ${words}`)), undefined, words);
  assert.equal(questions.length, 1 + risky.length);
  const permissions = createPermissions({
    permission: {
      mode: "deny",
      allow: ["git grep *", "git fetch *", "git *"].map((match) => ({ tool: "shell", match })),
    },
    root: "/ws",
  });
  const allowed = async (command: string): Promise<boolean> =>
    (await permissions.refusal("shell", { access: shell(command) }, new AbortController().signal)) ===
    undefined;
  for (const command of ["git grep -n foo", "git fetch --all", "git log --oneline -n 3"])
    assert.equal(await allowed(command), true, command);
  for (const command of [
    "git grep -O'touch F' foo",
    "git grep --open-files-in-pager='touch F' foo",
    "git fetch --upload-pack 'touch F' x",
    "git push --receive-pack=x y",
    "git rebase --exec 'touch F' x",
  ])
    assert.equal(await allowed(command), false, command);
});

test("text instead of an answer denies the call and is its reason for the model (finding D2)", async () => {
  const { rules, refusal } = asked({ deny: " use pnpm here \n" });
  assert.equal(
    await refusal(shell("npm test")),
    "Permission denied: the user said no, with these words: use pnpm here",
  );
  assert.deepEqual(rules, []);
});
