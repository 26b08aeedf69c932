/** Shell rules against forms of a command that look like another one: what a prefix covers, and what a deny rule finds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { PermissionRule } from "../../packages/core/src/config/config-types.ts";
import { createPermissions } from "../../packages/host/src/tool/tool-permission.ts";
import { shellMatches } from "../../packages/host/src/tool/shell/shell-rule.ts";

const SIGNAL = new AbortController().signal;

function refusal(mode: "auto" | "deny", rules: { allow?: string; deny?: string }, command: string) {
  const rule = (match: string | undefined): PermissionRule[] =>
    match === undefined ? [] : [{ tool: "shell", match }];
  const permissions = createPermissions({
    permission: { mode, allow: rule(rules.allow), deny: rule(rules.deny) },
    root: "/ws",
  });
  const folder = { path: "/ws", shown: "", inside: true };
  return permissions.refusal("shell", { access: { kind: "shell", command, folder } }, SIGNAL);
}

async function allows(match: string, command: string): Promise<boolean> {
  return (await refusal("deny", { allow: match }, command)) === undefined;
}

async function denies(match: string, command: string): Promise<boolean> {
  return (await refusal("auto", { deny: match }, command)) !== undefined;
}

test("a prefix of git covers its own commands with options that run nothing", async () => {
  for (const command of [
    "git status",
    "git --no-pager log -n 3 --oneline --color=always",
    "git diff -U5 src/*.ts",
    "git push -u origin main",
    "git commit -m 'a word'",
    "git -P show HEAD~2",
    "git log --since=2.weeks -- a b",
    "git checkout -b topic",
    "git version",
  ])
    assert.equal(await allows("git *", command), true, command);
  assert.equal(await allows("git -C sub log *", "git -C sub log -n 3"), true, "the user wrote it");
  assert.equal(await allows("/usr/bin/git *", "/usr/bin/git log"), true);
});

test("a prefix of git covers no way in which git runs a program, reads a configuration or writes a file", async () => {
  for (const command of [
    "git -c alias.x=!id x",
    "git -c core.pager=./evil log",
    "git -ccore.pager=./evil log",
    "git --config-env=core.pager=X log",
    "git --config-env core.pager=X log",
    "git --exec-path=/tmp/x status",
    "git --exec-pa=/tmp/x status",
    "git -C /elsewhere status",
    "git --git-dir=/tmp/x status",
    "git --work-tree /tmp/x status",
    "git --namespace=x status",
    "git -p log",
    "git --paginate log",
    "git --bare status",
    "git  -c a=b log",
    "git --no-pager -c a=b log",
    "git myalias",
    "git bisect run ./x",
    "git submodule foreach ./x",
    "git config alias.x '!id'",
    "git difftool -x ./x",
    "git mergetool",
    "git filter-branch --tree-filter ./x",
    "git clone --config core.hooksPath=x a",
    "git clone -c core.hooksPath=x a",
    "git clone -u ./x a",
    "git rebase -x ./x main",
    "git rebase -ix ./x main",
    "git rebase --exe ./x main",
    "git fetch ext::./x",
    "git pull 'ext::sh -c id'",
    "git ls-remote -u ./x a",
    "git archive -o /tmp/x HEAD",
    "git format-patch -o /tmp/x HEAD",
    "git log --output=/tmp/x",
    "git diff {-,-}output=/tmp/x",
    "git $X",
    "git log $IFS--output=x",
    String.raw`git log \--output=x`,
    "git log $'--output=x'",
    "GIT_PAGER=./x git log",
    "GIT_SSH_COMMAND=./x git fetch",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager git log",
    "env git log",
  ])
    assert.equal(await allows("git *", command), false, command);
  assert.equal(await allows("/usr/bin/git *", "/usr/bin/git -c alias.x=!id x"), false);
  assert.equal(await allows("sudo git *", "sudo git -c alias.x=!id x"), false);
});

test("no option before the subcommand of git is covered unless it is known to be harmless", () => {
  const option = fc
    .tuple(
      fc.constantFrom("-", "--"),
      fc.stringMatching(/^[a-zA-Z][a-zA-Z-]{0,12}$/),
      fc.constantFrom("", "=x", " x"),
    )
    .map((parts) => parts.join(""));
  const harmless =
    /^(?:-P|-v|--version|--no-pager|--no-optional-locks|--no-replace-objects|--no-lazy-fetch|--(?:literal|glob|noglob|icase)-pathspecs)$/;
  fc.assert(
    fc.property(option, (word) => {
      fc.pre(!harmless.test(word));
      assert.equal(shellMatches("git *", `git ${word} log`, "allow"), false, word);
    }),
  );
});

test("a prefix of any program covers no option that is named after running another program", async () => {
  for (const [match, command] of [
    ["rg *", "rg --pre ./x y"],
    ["rg *", "rg --pre=./x y"],
    ["find *", "find . -execdir ./x"],
    ["find *", "find . -exec ./x +"],
    ["tar *", "tar -cf a --checkpoint-action=exec=./x b"],
    ["tar *", "tar -xf a --use-compress-program=./x"],
    ["tar *", "tar -xf a --to-command=./x"],
    ["sort *", "sort --compress-program=./x a"],
    ["rsync *", "rsync --rsh=./x a b:"],
    ["man *", "man --pager=./x ls"],
    ["npm test *", "npm test --script-shell=./x"],
    ["rg *", "rg --p$'re' ./x y"],
    ["rg *", String.raw`rg --p\re ./x y`],
    ["rg *", "rg '--pre' ./x y"],
  ] as const)
    assert.equal(await allows(match, command), false, command);
  for (const [match, command] of [
    ["npm test *", "npm test -- --grep pattern"],
    ["rg *", "rg --pretty -n 'a b' src"],
    ["ls *", "ls -la --color=auto *.ts"],
    ["tsc *", "tsc --noEmit -p tsconfig.json"],
  ] as const)
    assert.equal(await allows(match, command), true, command);
});

test("a deny rule finds its command in every spelling that the text of the line decides", async () => {
  for (const command of [
    "rm${IFS}-rf${IFS}/",
    "rm$IFS-rf",
    "{rm,-rf,/}",
    "true; {rm,-rf,/}",
    "r{m,x} -rf /",
    "$'rm' -rf /",
    String.raw`$'\x72m' -rf /`,
    String.raw`$'\162\u006d' -rf /`,
    String.raw`r\m -rf /`,
    "r''m -rf /",
    '"rm" -rf /',
    "/bin/rm -rf /",
    String.raw`sh -c "$'\x72m' -rf /"`,
    "A=1 rm${IFS}x",
  ])
    assert.equal(await denies("rm *", command), true, command);
  for (const command of [
    "git push",
    "git -C . push",
    "git -C push push origin",
    "git -c a=b --no-pager push origin",
    "git --git-dir .git push",
    "git --git-dir=.git push",
    "git $X",
    "git $(echo push)",
    "git -c alias.x=push x",
    "git -calias.x=push x",
    "git --config-env=alias.x=X x",
    "git p{ush,ull}",
    "git pu''sh",
  ])
    assert.equal(await denies("git push *", command), true, command);
  for (const command of ["git status", "git -C push status", "git log push", "npm -C git push"])
    assert.equal(await denies("git push *", command), command === "git -C push status", command);
  assert.equal(await denies("npm publish *", "npm --silent --tag x publish"), true);
});

test("a program that only the shell knows is denied under a deny rule, with the reason", async () => {
  for (const command of [
    "$(echo rm) -rf /",
    "`echo rm` -rf /",
    "$X -rf /",
    "${X} -rf /",
    'X=rm; "$X" -rf /',
    "r$(echo m) -rf /",
    "/bin/r? -rf /",
    "/b*/rm$Y x",
    "sudo $X -rf /",
    "timeout 5 $X",
    "true && $X",
    "sh -c '$X -rf /'",
    "{r..r}m -rf /",
    "$'r'$X -rf",
  ])
    assert.match(
      (await refusal("auto", { deny: "rm *" }, command)) ?? "",
      /known only when it runs/,
      command,
    );
});

test("a deny rule leaves other commands alone, with variables, patterns and here-documents", async () => {
  for (const command of [
    'echo "$HOME" $(date) `date` *.ts {a,b}',
    "$HOME/bin/tool x",
    '"$HOME"/bin/tool x',
    "for f in *.txt; do wc -l $f; done",
    "case $x in *) ls;; a*) wc;; esac",
    "X=$(date) ls",
    "[ -f x ] && ls",
    "[[ $a == b* ]] && ls",
    "cat > x <<'E'\n$X is a variable and `this` is code\n*bold* text\nE",
    "cat > x <<E\n$X is a variable\nE\nls",
    "echo {1..3}",
    "time ls $X",
    "echo 'rm -rf /'",
    "grep -rn 'rm ' src",
  ])
    assert.equal(await refusal("auto", { deny: "rm *" }, command), undefined, command);
});

test("each quoting of each letter of a denied command is found", () => {
  const letter = (char: string) =>
    fc.constantFrom(
      char,
      `\\${char}`,
      `'${char}'`,
      `"${char}"`,
      `$'${char}'`,
      `$'\\x${char.charCodeAt(0).toString(16)}'`,
      `$'\\${char.charCodeAt(0).toString(8).padStart(3, "0")}'`,
      `''${char}`,
      `"$(true)"${char}`,
      `\${x}${char}`,
    );
  const word = (text: string) => fc.tuple(...[...text].map(letter)).map((parts) => parts.join(""));
  const blank = fc.constantFrom(" ", "  ", "\t", "${IFS}", "$IFS", " \\\n ");
  const before = fc.constantFrom("", "ls; ", "A=b ", "sudo ", "true && ", "(", "env -i ");
  fc.assert(
    fc.property(before, word("git"), blank, word("push"), (lead, git, gap, push) => {
      const line = `${lead}${git}${gap}${push}`;
      assert.equal(shellMatches("git push *", line, "deny"), true, line);
    }),
  );
});
