import assert from "node:assert/strict";
import { test } from "node:test";
import type { PermissionMode, PermissionRule } from "../../packages/core/src/config/config-types.ts";
import type { AskPermission, PermissionQuestion } from "../../packages/contract/src/host/run.ts";
import type { Access } from "../../packages/host/src/tool/host-tool.ts";
import { createPermissions } from "../../packages/host/src/tool/tool-permission.ts";
import { longTest } from "../runner/long-tests.ts";

const ROOT = "/ws";
const SIGNAL = new AbortController().signal;
const inside = (path: string) => ({ path: `${ROOT}/${path}`, shown: path, inside: true });
const outside = (path: string) => ({ path, shown: path, inside: false });
const read: Access = { kind: "read", path: inside("a.txt") };
const readOutside: Access = { kind: "read", path: outside("/etc/hosts") };
const write: Access = { kind: "write", path: inside("a.txt") };
const writeOutside: Access = { kind: "write", path: outside("/etc/hosts") };
const shell = (command: string, folder = ""): Access => ({
  kind: "shell",
  command,
  folder: { path: folder === "" ? ROOT : `${ROOT}/${folder}`, shown: folder, inside: true },
});
const fetch = (url: string, local = false): Access => ({ kind: "fetch", url: new URL(url), local });
const TOOL_OF = { read: "read", write: "write", shell: "shell", fetch: "web_fetch", plugin: "recall" };

interface Setup {
  mode: PermissionMode;
  network?: "on" | "off";
  /** Whether a sandbox is around commands. Default false. */
  confines?: boolean;
  allow?: PermissionRule[];
  deny?: PermissionRule[];
  ask?: AskPermission;
  remember?: (rule: PermissionRule) => Promise<void>;
}

function permissionsOf({ ask, remember, confines = false, ...permission }: Setup) {
  return createPermissions({
    permission,
    root: ROOT,
    ask,
    remember,
    confines: () => Promise.resolve(confines),
  });
}

function refusal(setup: Setup, access: Access): Promise<string | undefined> {
  return permissionsOf(setup).refusal(TOOL_OF[access.kind], { access }, SIGNAL);
}

async function allowed(setup: Setup, access: Access): Promise<boolean> {
  return (await refusal(setup, access)) === undefined;
}

test("the decision table of the modes applies without a permission prompt", async () => {
  const table: [string, Access, Record<PermissionMode, boolean>][] = [
    ["read inside", read, { ask: true, sandbox: true, deny: true, auto: true, "read-only": true }],
    [
      "read outside",
      readOutside,
      { ask: false, sandbox: false, deny: false, auto: true, "read-only": false },
    ],
    ["write inside", write, { ask: false, sandbox: false, deny: false, auto: true, "read-only": false }],
    [
      "write outside",
      writeOutside,
      { ask: false, sandbox: false, deny: false, auto: false, "read-only": false },
    ],
    ["shell", shell("ls"), { ask: false, sandbox: false, deny: false, auto: true, "read-only": false }],
    [
      "fetch",
      fetch("https://a.example/"),
      { ask: false, sandbox: false, deny: false, auto: true, "read-only": false },
    ],
    [
      "fetch local",
      fetch("http://localhost/", true),
      { ask: false, sandbox: false, deny: false, auto: true, "read-only": false },
    ],
    [
      "plugin",
      { kind: "plugin", readOnly: false },
      { ask: false, sandbox: false, deny: false, auto: true, "read-only": false },
    ],
    [
      "reading plugin",
      { kind: "plugin", readOnly: true },
      { ask: true, sandbox: true, deny: true, auto: true, "read-only": true },
    ],
  ];
  for (const [name, access, expected] of table) {
    for (const [mode, verdict] of Object.entries(expected)) {
      const got = await allowed({ mode: mode as PermissionMode }, access);
      assert.equal(got, verdict, `${name} in mode ${mode}`);
    }
  }
});

test("a refusal explains how the user can allow it", async () => {
  assert.match((await refusal({ mode: "ask" }, write)) ?? "", /no person can be asked.*--permission auto/);
  assert.match((await refusal({ mode: "deny" }, write)) ?? "", /mode is deny.*--permission auto/);
  assert.match((await refusal({ mode: "read-only" }, shell("ls"))) ?? "", /read-only.*--permission auto/);
});

test("mode ask asks once, and only if needed", async () => {
  const asked: PermissionQuestion[] = [];
  const ask: AskPermission = async (question) => {
    asked.push(question);
    return "once";
  };
  const permissions = permissionsOf({ mode: "ask", ask });
  assert.equal(await permissions.refusal("read", { access: read }, SIGNAL), undefined);
  assert.equal(asked.length, 0);
  assert.equal(await permissions.refusal("shell", { access: shell("npm test") }, SIGNAL), undefined);
  assert.equal(await permissions.refusal("shell", { access: shell("npm test") }, SIGNAL), undefined);
  assert.equal(await permissions.refusal("write", { access: writeOutside }, SIGNAL), undefined);
  assert.deepEqual(
    asked.map(({ toolName, summary }) => `${toolName}: ${summary}`),
    ["shell: npm test", "shell: npm test", "write: write /etc/hosts (outside the workspace)"],
  );
});

test("an answer of always remembers the narrowest rule and is not asked again", async () => {
  const rules: PermissionRule[] = [];
  let questions = 0;
  const permissions = permissionsOf({
    mode: "ask",
    ask: async () => {
      questions += 1;
      return "always";
    },
    remember: async (rule) => void rules.push(rule),
  });
  const check = (tool: string, access: Access) => permissions.refusal(tool, { access }, SIGNAL);
  await check("shell", shell("npm test"));
  await check("shell", shell("npm test"));
  assert.equal(questions, 1);
  await check("shell", shell("npm test && rm -rf /"));
  assert.equal(questions, 2, "a longer command is another command");
  await check("shell", shell("npm test", "sub"));
  assert.equal(questions, 3, "the same words in another folder are another command");
  await check("write", write);
  await check("write", { kind: "write", path: inside("deep/b.txt") });
  assert.equal(questions, 4, "a file tool is remembered for the workspace");
  await check("write", writeOutside);
  assert.equal(questions, 5, "but not for what is outside of it");
  await check("write", writeOutside);
  assert.equal(questions, 5);
  await check("web_fetch", fetch("https://a.example/x"));
  await check("web_fetch", fetch("https://a.example/y"));
  assert.equal(questions, 6);
  await check("web_fetch", fetch("https://a.example.evil.example/"));
  assert.equal(questions, 7);
  assert.deepEqual(rules.slice(0, 4), [
    { tool: "shell", cwd: "/ws", match: "npm test" },
    { tool: "shell", cwd: "/ws", match: "npm test && rm -rf /" },
    { tool: "shell", cwd: "/ws/sub", match: "npm test" },
    { tool: "write", cwd: "/ws" },
  ]);
});

test("a question shows as text what always would save", async () => {
  const rules: (string | undefined)[] = [];
  const ask: AskPermission = async ({ rule }) => {
    rules.push(rule);
    return "deny";
  };
  const hook: Access = { kind: "write", path: inside(".git/hooks/pre-commit") };
  for (const access of [write, writeOutside, hook, shell("npm test", "sub"), fetch("https://a.example/x")]) {
    await refusal({ mode: "ask", ask }, access);
  }
  await refusal({ mode: "ask", ask }, { kind: "plugin", readOnly: false });
  assert.deepEqual(rules, [
    "write anywhere in /ws",
    "write: only /etc/hosts, from /ws",
    "write: only /ws/.git/hooks/pre-commit, from /ws",
    "shell: exactly this command in /ws/sub",
    "web_fetch from https://a.example in /ws",
    "recall with any arguments in /ws",
  ]);
});

test("an always applies in every set that shares the list of remembered rules", async () => {
  const remembered: PermissionRule[] = [];
  const first = createPermissions({
    permission: { mode: "ask" },
    root: ROOT,
    ask: async () => "always",
    remembered,
  });
  const access = shell("npm test");
  assert.equal(await first.refusal("shell", { access }, SIGNAL), undefined);
  const second = createPermissions({ permission: { mode: "ask" }, root: ROOT, remembered });
  assert.equal(await second.refusal("shell", { access }, SIGNAL), undefined);
  assert.match(
    (await second.refusal("shell", { access: shell("npm t") }, SIGNAL)) ?? "",
    /no person can be asked/,
  );
});

test("a failing preview leaves the question, and a preview hides no characters", async () => {
  const previews: (string | undefined)[] = [];
  const ask: AskPermission = async ({ preview }) => {
    previews.push(preview);
    return "once";
  };
  const permissions = permissionsOf({ mode: "ask", ask });
  const broken = () => Promise.reject(new Error("gone"));
  assert.equal(await permissions.refusal("write", { access: write, preview: broken }, SIGNAL), undefined);
  const hiding = { access: write, preview: () => "+a\u202eb" };
  assert.equal(await permissions.refusal("write", hiding, SIGNAL), undefined);
  assert.deepEqual(previews, [undefined, String.raw`+a\u202eb`]);
});

test("questions come one at a time, and an always answers the queued ones", async () => {
  let open = 0;
  let questions = 0;
  const permissions = permissionsOf({
    mode: "ask",
    ask: async () => {
      questions += 1;
      open += 1;
      assert.equal(open, 1);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      return "always";
    },
  });
  const all = await Promise.all([1, 2, 3].map(() => permissions.refusal("write", { access: write }, SIGNAL)));
  assert.deepEqual(all, [undefined, undefined, undefined]);
  assert.equal(questions, 1);
});

test("a no, a broken question and a rule that cannot be stored are distinguished", async () => {
  assert.match((await refusal({ mode: "ask", ask: async () => "deny" }, write)) ?? "", /user said no/);
  const broken: AskPermission = () => Promise.reject(new Error("terminal gone"));
  assert.match((await refusal({ mode: "ask", ask: broken }, write)) ?? "", /not answered/);
  const remember = () => Promise.reject(new Error("read-only config"));
  assert.equal(await refusal({ mode: "ask", ask: async () => "always", remember }, write), undefined);
  const aborted = AbortSignal.abort();
  const permissions = permissionsOf({ mode: "ask", ask: async () => "once" });
  assert.match((await permissions.refusal("write", { access: write }, aborted)) ?? "", /aborted/);
});

test("deny rules win over allow rules and over every mode", async () => {
  const rule: PermissionRule = { tool: "write", match: "*.txt" };
  for (const mode of ["ask", "deny", "auto", "read-only"] as const) {
    assert.equal(
      await allowed({ mode, allow: [rule], deny: [rule], ask: async () => "always" }, write),
      false,
    );
  }
  const secret: Access = { kind: "read", path: inside("conf/.env") };
  assert.equal(await allowed({ mode: "auto", deny: [{ tool: "read", match: ".env" }] }, secret), false);
  assert.equal(await allowed({ mode: "auto", deny: [{ tool: "*" }] }, read), false);
  const permissions = permissionsOf({ mode: "auto", deny: [{ tool: "read", match: "conf/**" }] });
  assert.equal(permissions.hidden("search", "/ws/conf/.env"), true);
  assert.equal(permissions.hidden("search", "/ws/src/a.ts"), false);
});

test("compound commands never match an allowed prefix", async () => {
  const setup: Setup = { mode: "deny", allow: [{ tool: "shell", match: "git *" }] };
  for (const command of ["git status", "git log -n 3 -- a b", "  git diff  "]) {
    assert.equal(await allowed(setup, shell(command)), true, command);
  }
  const compound = [
    "git status; rm -rf x",
    "git status && rm x",
    "git status || rm x",
    "git log | sh",
    "git log $(rm x)",
    "git log `rm x`",
    "git log > ~/.bashrc",
    "git log < in",
    "git status & rm x",
    "git status\nrm x",
    "git log <(rm x)",
    "gitx status",
    "rm x",
  ];
  for (const command of compound) assert.equal(await allowed(setup, shell(command)), false, command);
});

test("a denied prefix is found in every part of a compound command", async () => {
  const setup: Setup = { mode: "auto", deny: [{ tool: "shell", match: "rm *" }] };
  for (const command of [
    "rm x",
    "cd a && rm x",
    "ls; rm x",
    "A=1 rm x",
    "echo $(rm x)",
    "true\nrm x",
    "(rm x)",
  ]) {
    assert.equal(await allowed(setup, shell(command)), false, command);
  }
  assert.equal(await allowed(setup, shell("rmdir x")), true);
});

test("a command that ends in ` *` is allowed once and saves no rule (finding F13)", async () => {
  const questions: PermissionQuestion[] = [];
  const rules: PermissionRule[] = [];
  const permissions = permissionsOf({
    mode: "ask",
    ask: async (question) => {
      questions.push(question);
      return "always";
    },
    remember: async (rule) => void rules.push(rule),
  });
  for (const command of ["rm -rf build/ *", " rm -rf build/ * \n", "rm -rf build/ /home/user/x"])
    assert.equal(await permissions.refusal("shell", { access: shell(command) }, SIGNAL), undefined);
  assert.equal(questions.length, 3);
  assert.match(questions[0]?.rule ?? "", /^only this once, /);
  assert.match(questions[1]?.rule ?? "", /^only this once, /);
  assert.deepEqual(rules, [{ tool: "shell", cwd: "/ws", match: "rm -rf build/ /home/user/x" }]);
});

longTest("a line of too deeply nested commands is denied, a long one is not (finding F13)", async () => {
  const setup: Setup = { mode: "auto", deny: [{ tool: "shell", match: "rm *" }] };
  for (const nested of ["sudo eval ".repeat(80), "sudo eval ".repeat(5_000)])
    assert.equal(await allowed(setup, shell(nested)), false);
  assert.equal(await allowed(setup, shell(`sudo cp ${"a.txt ".repeat(5_000)}`)), true);
  assert.equal(await allowed(setup, shell(`cat > x <<'E'\n${"see `a`\n".repeat(5_000)}E`)), true);
  assert.equal(await allowed(setup, shell("sudo eval 'ls; eval rm x'")), false);
});

test("a rule applies in its folder and below, an exact command in that folder alone", async () => {
  const below = (rule: PermissionRule, access: Access) => allowed({ mode: "deny", allow: [rule] }, access);
  assert.equal(await below({ tool: "write", cwd: "/ws" }, write), true);
  assert.equal(await below({ tool: "write", cwd: "/other" }, write), false);
  assert.equal(await below({ tool: "shell", match: "npm *", cwd: "/ws" }, shell("npm test", "sub")), true);
  assert.equal(
    await below({ tool: "shell", match: "npm test", cwd: "/ws" }, shell("npm test", "sub")),
    false,
  );
  assert.equal(await below({ tool: "shell", match: "npm test" }, shell("npm test", "sub")), true);
});

test("a rule opens the outside, private hosts and mode auto only where it names them", async () => {
  const allows = (rule: PermissionRule, access: Access) => allowed({ mode: "deny", allow: [rule] }, access);
  assert.equal(await allows({ tool: "write" }, writeOutside), false);
  assert.equal(await allows({ tool: "write", match: "/etc/**" }, writeOutside), true);
  assert.equal(
    await allowed({ mode: "auto", allow: [{ tool: "write", match: "/etc/*" }] }, writeOutside),
    true,
  );
  assert.equal(await allows({ tool: "web_fetch" }, fetch("http://localhost:3000/", true)), false);
  const local = { tool: "web_fetch", match: "http://localhost:3000" };
  assert.equal(await allows(local, fetch("http://localhost:3000/x", true)), true);
  assert.equal(await allows(local, fetch("http://localhost:30001/x", true)), false);
  assert.equal(await allowed({ mode: "read-only", allow: [{ tool: "write" }] }, write), false);
  assert.equal(
    await allowed({ mode: "read-only", allow: [{ tool: "read", match: "/etc/*" }] }, readOutside),
    true,
  );
});

test("a rule for a whole tool does not open the folder of git", async () => {
  const hook: Access = { kind: "write", path: inside(".git/hooks/pre-commit") };
  assert.equal(await allowed({ mode: "deny", allow: [{ tool: "write" }] }, hook), false);
  assert.equal(
    await allowed({ mode: "deny", allow: [{ tool: "write", match: ".git/hooks/*" }] }, hook),
    true,
  );
  const rules: PermissionRule[] = [];
  const remember = async (rule: PermissionRule) => void rules.push(rule);
  await refusal({ mode: "ask", ask: async () => "always", remember }, hook);
  assert.deepEqual(rules, [{ tool: "write", cwd: "/ws", match: "/ws/.git/hooks/pre-commit" }]);
});

test("a question shows characters that would hide what a command does", async () => {
  let summary = "";
  const ask: AskPermission = async (question) => {
    summary = question.summary;
    return "once";
  };
  await refusal({ mode: "ask", ask }, shell("rm -rf x\u001b[2K\rls \u202etxt\nnext"));
  assert.equal(summary, String.raw`rm -rf x\u001b[2K\u000dls \u202etxt` + "\nnext");
});

test("an abort ends an unanswered question", async () => {
  const controller = new AbortController();
  const ask: AskPermission = () => {
    queueMicrotask(() => controller.abort());
    return new Promise(() => undefined);
  };
  const answer = await permissionsOf({ mode: "ask", ask }).refusal(
    "write",
    { access: write },
    controller.signal,
  );
  assert.match(answer ?? "", /not answered/);
});

test("a star in the name of a rule's tool matches any characters, and nothing else does", async () => {
  const call: Access = { kind: "plugin", readOnly: false };
  const denied = async (pattern: string, name: string): Promise<boolean> => {
    const permissions = permissionsOf({ mode: "auto", deny: [{ tool: pattern }] });
    return (await permissions.refusal(name, { access: call }, SIGNAL)) !== undefined;
  };
  for (const [pattern, name] of [
    ["files__*", "files__write"],
    ["*__write", "files__write"],
    ["f*__*e", "files__write"],
    ["*", "files__write"],
    ["a*a", "aa"],
  ] as const)
    assert.equal(await denied(pattern, name), true, `${pattern} ${name}`);
  for (const [pattern, name] of [
    ["files__*", "file__write"],
    ["files_.", "files__"],
    ["a*a", "a"],
    ["ab*ba", "aba"],
    ["*x*", "files__write"],
  ] as const)
    assert.equal(await denied(pattern, name), false, `${pattern} ${name}`);
  assert.equal(await allowed({ mode: "deny", allow: [{ tool: "rec*" }] }, call), true);
});

test("a deny rule for a part of a plugin's tool denies all of it, since parts cannot be matched", async () => {
  const call: Access = { kind: "plugin", readOnly: false };
  const rule = (tool: string): PermissionRule => ({ tool, match: "/etc/**" });
  assert.equal(await allowed({ mode: "auto", deny: [rule("recall")] }, call), false);
  assert.equal(
    await allowed({ mode: "auto", deny: [rule("*")] }, call),
    true,
    "a rule about files in general",
  );
  assert.equal(await allowed({ mode: "deny", allow: [rule("recall")] }, call), false);
});
