import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { PluginTool } from "../../packages/contract/src/host/plugin.ts";
import type { PermissionRule } from "../../packages/core/src/config/config-types.ts";
import { bwrapArguments } from "../../packages/host/src/tool/shell/bwrap.ts";
import { gitMounts } from "../../packages/host/src/tool/shell/git-mounts.ts";
import { gitFolders, isRunByGit } from "../../packages/host/src/tool/places/git-places.ts";
import { seatbeltProfile } from "../../packages/host/src/tool/shell/seatbelt.ts";
import { callFilter } from "../../packages/host/src/tool/shell/call-filter.ts";
import { createToolSet } from "../../packages/host/src/tool/toolset.ts";
import { fixture, textOf } from "./fixture.ts";

/** A tool that records how many of its calls run at the same time. */
function counted(
  name: string,
  more: { readOnly?: boolean },
): PluginTool & { most(): number; order: string[] } {
  let running = 0;
  let most = 0;
  const order: string[] = [];
  return {
    name,
    description: name,
    parameters: { type: "object", properties: { id: { type: "string" } } },
    ...more,
    order,
    most: () => most,
    async execute({ id }) {
      running += 1;
      most = Math.max(most, running);
      order.push(String(id));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return { content: [{ type: "text", text: String(id) }], isError: false };
    },
  };
}

test("of hundreds of calls at most eight run at once, and those that may change something alone and in order (finding F1, F12)", async (t) => {
  const writing = counted("writing", {});
  const reading = counted("reading", { readOnly: true });
  const { call } = fixture(t, { extra: [writing, reading] });
  const ids = Array.from({ length: 400 }, (_, index) => `${index}`);
  await Promise.all(ids.map((id) => call("writing", { id })));
  assert.equal(writing.most(), 1);
  assert.deepEqual(writing.order, ids);
  await Promise.all(ids.map((id) => call("reading", { id })));
  assert.equal(reading.most(), 8);
});

test("an edit after a write of the same answer sees the written text, and a read between them too (finding F1)", async (t) => {
  const { call, root } = fixture(t, { permission: { mode: "auto", sandbox: "off" } });
  const outcomes = await Promise.all([
    call("shell", { command: "sleep 0.1; echo one > a.txt" }),
    call("read", { path: "a.txt" }),
    call("edit", { path: "a.txt", old_text: "one", new_text: "two" }),
    call("shell", { command: "cat a.txt" }),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => textOf(outcome)),
    ["(no output)", "1\tone", 'Edited "a.txt" at line 1.', "two"],
  );
  assert.equal(readFileSync(join(root, "a.txt"), "utf8"), "two\n");
});

test("a call that waits for others leaves the queue when the turn is aborted (finding F1)", async (t) => {
  const { call } = fixture(t, { permission: { mode: "auto", sandbox: "off" } });
  const controller = new AbortController();
  const first = call("shell", { command: "sleep 60" }, controller.signal);
  const second = call("write", { path: "a.txt", content: "x" }, controller.signal);
  setImmediate(() => controller.abort());
  assert.match(textOf(await second), /Aborted before the tool was started/);
  await first;
  assert.equal(
    textOf(await call("write", { path: "a.txt", content: "x" })),
    'Created "a.txt": 1 lines, 1 bytes.',
  );
});

const DENIED = [
  "git push",
  "git  push origin",
  "git\tpush origin",
  "git push --force",
  "/usr/bin/git push",
  "! git push",
  "command git push",
  "sudo git push",
  "sudo -u root git push",
  "env A=b git push",
  "A=b C=d git push",
  "cd x && git push",
  "true;git push",
  "echo | git push",
  "(git push)",
  "{ git push; }",
  "if git push; then :; fi",
  "while :; do git push; done",
  'g"i"t push',
  "g\\it 'push'",
  "git \\\n push",
  ">out git push",
  "2>/dev/null git push",
  'echo "$(git push)"',
  "echo `git push`",
  'bash -c "git  push"',
  'eval git "push"',
  "sh -c 'cd x; /bin/git push'",
  "timeout 5 git push",
  "nohup git push &",
];
const HARMLESS = [
  "git status",
  "echo git push",
  "gitx push",
  "git pushed",
  "echo 'a; b' git push",
  "# git push",
];

test("deny rules for the shell are compared by words, ignoring prefixes of the command (finding F13)", async (t) => {
  const deny: PermissionRule[] = [{ tool: "shell", match: "git push *" }];
  const { set } = fixture(t, { permission: { mode: "auto", deny, sandbox: "off" } });
  const refused = (command: string): Promise<string | undefined> =>
    set.permits(
      { type: "toolCall", id: "1", name: "shell", arguments: { command } },
      new AbortController().signal,
    );
  for (const command of DENIED) assert.match((await refused(command)) ?? "", /deny rule/, command);
  for (const command of HARMLESS) assert.equal(await refused(command), undefined, command);
});

test("an allow rule for the shell still matches the exact text (finding F13)", async (t) => {
  const allow: PermissionRule[] = [{ tool: "shell", match: "git log *" }];
  const { set } = fixture(t, { permission: { mode: "deny", allow } });
  const refused = (command: string): Promise<string | undefined> =>
    set.permits(
      { type: "toolCall", id: "1", name: "shell", arguments: { command } },
      new AbortController().signal,
    );
  assert.equal(await refused("git log -3"), undefined);
  for (const command of ["sudo git log", "git  log", "git log; ls", "git log $(ls)", "A=b git log"])
    assert.match((await refused(command)) ?? "", /mode is deny/, command);
});

test("an always for write covers neither the home nor what git runs, without a permission prompt for them (finding F2)", async (t) => {
  const asked: string[] = [];
  const { base, root, write } = fixture(t);
  const home = join(root, ".pagurus");
  mkdirSync(home);
  writeFileSync(join(home, "pagurus.json"), "{}");
  const linked = write("dotfiles/pagurus.json", "{ secret: 1 }");
  symlinkSync(home, join(root, "link"));
  mkdirSync(join(base, "elsewhere"));
  const remembered: PermissionRule[] = [];
  const set = createToolSet({
    cwd: root,
    permission: { mode: "ask" },
    context: { sessionKey: "main", sessionId: "s" },
    home,
    closedFiles: [linked],
    remembered,
    ask: ({ summary }) => {
      asked.push(summary);
      return Promise.resolve("always");
    },
  });
  let calls = 0;
  const call = async (name: string, params: Record<string, unknown>): Promise<string> =>
    textOf(
      await set.call(
        { type: "toolCall", id: `c${++calls}`, name, arguments: params },
        new AbortController().signal,
      ),
    );
  assert.match(await call("write", { path: "a.txt", content: "x" }), /Created/);
  assert.deepEqual(remembered, [{ tool: "write", cwd: root }]);
  for (const path of [
    ".pagurus/pagurus.json",
    ".pagurus/plugins/new/index.js",
    "link/pagurus.json",
    "dotfiles/pagurus.json",
    ".git/hooks/pre-commit",
    ".git/config",
    ".git",
    "sub/.git/config",
    ".git/modules/lib/deep/hooks/x",
    ".git/worktrees/w/commondir",
  ])
    assert.match(await call("write", { path, content: "x" }), /Permission denied for write/, path);
  for (const path of [".pagurus/pagurus.json", "link/pagurus.json", "dotfiles/pagurus.json"])
    assert.match(await call("read", { path }), /belongs to Pagurus itself/);
  assert.match(await call("shell", { command: "ls", cwd: ".pagurus" }), /belongs to Pagurus itself/);
  assert.doesNotMatch(await call("search", { pattern: "secret" }), /secret: 1/);
  assert.doesNotMatch(await call("glob", { pattern: "**/*.json" }), /pagurus\.json/);
  assert.deepEqual(asked, ["write a.txt"]);
  assert.match(await call("write", { path: ".git/info/exclude", content: "x" }), /Created/);
});

test("the git folder of a linked working tree is guarded at its real place (finding F2)", (t) => {
  const { base, root } = fixture(t);
  const main = join(base, "main-git");
  const own = join(main, "worktrees", "w");
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, "commondir"), "../..\n");
  writeFileSync(join(root, ".git"), `gitdir: ${own}\n`);
  const folders = gitFolders(root);
  assert.deepEqual(folders, [own, main]);
  for (const path of [
    join(main, "hooks", "x"),
    join(main, "config"),
    join(own, "config.worktree"),
    join(root, ".git"),
  ])
    assert.equal(isRunByGit(path, folders), true, path);
  for (const path of [join(main, "objects", "ab"), join(root, "config"), join(root, "hooks", "x")])
    assert.equal(isRunByGit(path, folders), false, path);
});

test("keys in the home need a rule that names them, in mode auto and inside the workspace too (finding F4)", async (t) => {
  const { root, write } = fixture(t);
  write(".ssh/id_rsa", "secret");
  write(".npmrc", "secret");
  const env = { PATH: process.env["PATH"], HOME: root };
  const auto = fixture(t, { cwd: root, env });
  assert.match(textOf(await auto.call("read", { path: ".ssh/id_rsa" })), /may hold keys/);
  assert.match(textOf(await auto.call("search", { pattern: "secret" })), /No line matches/);
  const named = fixture(t, {
    cwd: root,
    env,
    permission: {
      mode: "auto",
      allow: [{ tool: "read", match: ".ssh/**" }],
      unmask: ["~/.npmrc", join(root, ".npmrc")],
    },
  });
  assert.equal(textOf(await named.call("read", { path: ".ssh/id_rsa" })), "1\tsecret");
  assert.equal(textOf(await named.call("read", { path: ".npmrc" })), "1\tsecret");
});

test("without a /proc of its own a command gets none, so that no environment of others is read (finding F4)", () => {
  const git = { fixed: [], readOnly: [], made: [], absent: [] };
  const mounts = { root: "/srv/w", hidden: [], shown: [], empty: [], held: [], git };
  const args = bwrapArguments(mounts, { proc: "none", network: "on" }).join(" ");
  assert.match(args, /--unshare-pid .*--tmpfs \/proc /);
  assert.doesNotMatch(args, /--proc|--unshare-net/);
});

test("on macOS what git runs is denied where it does not exist, and folders above hidden places stay (finding F2)", (t) => {
  const { root, write } = fixture(t);
  write("sub/.git/config", "[core]\n");
  const git = gitMounts(root, [], { folders: [join(root, "sub", ".git")], entries: [] });
  const places = { root, scratch: "/s", hidden: [join(root, "conf", "home")], shown: [], empty: [] };
  const profile = seatbeltProfile({ ...places, held: [join(root, "conf")], git, network: "on" });
  const denied = profile.split("\n").filter((line) => line.startsWith("(deny file-write"));
  for (const name of ["hooks", "config", "config.worktree", "commondir", "gitdir"])
    assert.ok(
      denied.some((line) => line.includes(`(subpath "${join(root, "sub/.git", name)}")`)),
      name,
    );
  for (const name of ["conf", "sub", "sub/.git"])
    assert.ok(denied.includes(`(deny file-write-unlink (literal "${join(root, name)}"))`), name);
});

/** The kernel's answer to a call with this filter. */
function verdictOf(filter: Uint8Array, processor: number, [call, ...values]: readonly number[]): number {
  const view = new DataView(filter.buffer);
  const data = new Map([
    [0, call ?? 0],
    [4, processor],
    ...values.map((value, at): [number, number] => [16 + at * 8, value]),
  ]);
  let word = 0;
  for (let at = 0; ; at += 1) {
    const [code, value] = [view.getUint16(at * 8, true), view.getUint32(at * 8 + 4, true)];
    if (code === 0x06) return value;
    if (code === 0x20) word = data.get(value) ?? 0;
    else if (code === 0x54) word = (word & value) >>> 0;
    else {
      const holds = code === 0x45 ? (word & value) !== 0 : word === value;
      at += view.getUint8(at * 8 + (holds ? 2 : 3));
    }
  }
}

test("the filter of system calls judges each call by its number and arguments, and exists for known processors only (finding F4)", () => {
  const [ALLOW, REFUSE, MISSING] = [0x7fff0000, 0x00050001, 0x00050026];
  const [CREATES, TEMPORARY, SETUID] = [0o101, 0o20200002, 0o4755];
  const x64 = [
    [ALLOW, 0],
    ...[0, 2, 10, 16].map((family) => [ALLOW, 41, family]),
    ...[1, 17, 31, 38, 40].map((family) => [REFUSE, 41, family]),
    [ALLOW, 53, 1],
    ...[248, 249, 250, 425].map((call) => [REFUSE, call]),
    [MISSING, 437],
    [ALLOW, 2, 0, 0, SETUID],
    [ALLOW, 2, 0, CREATES, 0o755],
    [REFUSE, 2, 0, CREATES, SETUID],
    [REFUSE, 257, 0, 0, TEMPORARY, SETUID],
    [REFUSE, 85, 0, SETUID],
    [REFUSE, 90, 0, SETUID],
    [ALLOW, 90, 0, 0o2755],
    [REFUSE, 91, 0, SETUID],
    [REFUSE, 133, 0, SETUID],
    [REFUSE, 268, 0, 0, SETUID],
    [REFUSE, 452, 0, 0, SETUID],
    // The same numbers with short pointers.
    [REFUSE, 0x40000029, 1],
  ];
  const arm64 = [
    ...[1, 40].map((family) => [REFUSE, 198, family]),
    [ALLOW, 198, 2],
    ...[217, 218, 219, 425].map((call) => [REFUSE, call]),
    [REFUSE, 52, 0, SETUID],
    [REFUSE, 53, 0, 0, SETUID],
    [REFUSE, 56, 0, 0, CREATES, SETUID],
    [ALLOW, 56, 0, 0, 0, SETUID],
  ];
  const short = [
    [REFUSE, 286],
    [REFUSE, 359, 40],
    [REFUSE, 102, 1],
    [ALLOW, 102, 3],
    [REFUSE, 15, 0, SETUID],
    [REFUSE, 295, 0, 0, CREATES, SETUID],
  ];
  for (const [architecture, processor, calls] of [
    ["x64", 0xc000003e, x64],
    ["x64", 0x40000003, short],
    ["x64", 7, [[REFUSE, 0]]],
    ["arm64", 0xc00000b7, arm64],
  ] as const) {
    const filter = callFilter(architecture);
    assert.ok(filter);
    for (const [wanted, ...call] of calls)
      assert.equal(verdictOf(filter, processor, call), wanted, `${architecture} ${call.join(" ")}`);
  }
  assert.equal(callFilter("ppc64"), undefined);
});
