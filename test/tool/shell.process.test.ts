import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync, chmodSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { findProgram } from "../../packages/core/src/platform/executables.ts";
import { bwrapArguments } from "../../packages/host/src/tool/shell/bwrap.ts";
import { createSandbox } from "../../packages/host/src/tool/shell/sandbox.ts";
import { seatbeltProfile } from "../../packages/host/src/tool/shell/seatbelt.ts";
import { childEnvironment } from "../../packages/core/src/platform/child-environment.ts";
import { fixture, temporaryFolder, textOf } from "./fixture.ts";
import { longTest } from "../runner/long-tests.ts";
import { until } from "../runner/until.ts";

const ANYWHERE = {
  setting: "auto",
  network: "on",
  places: { closed: [], folders: [], shown: ["/usr", "/etc"], hidden: [] },
} as const;
const NO_GIT = { fixed: [], readOnly: [], made: [], absent: [] };

/** Commands of living processes with `mark` in their arguments. */
function livingWith(mark: string): string[] {
  return execFileSync("ps", ["-eo", "stat,args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(mark) && !line.startsWith("Z") && !line.includes("ps -eo"));
}

/** What was killed takes a moment to end. */
async function noneWith(mark: string): Promise<void> {
  await until(
    () => livingWith(mark).length === 0,
    () => livingWith(mark).join("\n"),
  );
}

test("a command runs in the workspace and returns output and exit code", async (t) => {
  const { call, root } = fixture(t);
  mkdirSync(join(root, "sub"));
  const fine = await call("shell", { command: "pwd; echo err >&2" });
  assert.deepEqual([textOf(fine).split("\n").sort(), fine.isError], [[root, "err"].sort(), false]);
  const failed = await call("shell", { command: "echo out; exit 3" });
  assert.equal(textOf(failed), "out\n[exit code 3]");
  assert.equal(failed.isError, true);
  assert.equal(failed.details?.["exitCode"], 3);
  assert.equal(textOf(await call("shell", { command: "true" })), "(no output)");
  assert.equal(textOf(await call("shell", { command: "pwd", cwd: "sub" })), join(root, "sub"));
  assert.match(textOf(await call("shell", { command: "pwd", cwd: ".." })), /must be inside the workspace/);
  assert.match(textOf(await call("shell", { command: "pwd", cwd: "no" })), /names no folder/);
  assert.match(textOf(await call("shell", { command: "  " })), /is empty/);
  assert.equal(textOf(await call("shell", { command: "cat; echo done" })), "done");
});

test("the environment holds common variables, those of the configuration, and no keys", async (t) => {
  const env = {
    PATH: process.env["PATH"],
    HOME: "/home/x",
    LC_ALL: "C",
    OPENAI_API_KEY: "sk-1",
    MY_ONE: "1",
    APP_A: "a",
  };
  const { call } = fixture(t, {
    env,
    permission: { mode: "auto", shellEnv: ["MY_ONE", "APP_*"], sandbox: "off" },
  });
  const lines = textOf(await call("shell", { command: "env" })).split("\n");
  assert.ok(!lines.some((line) => line.includes("sk-1")));
  for (const line of ["MY_ONE=1", "APP_A=a", "HOME=/home/x", "LC_ALL=C"])
    assert.ok(lines.includes(line), line);
  assert.deepEqual(Object.keys(childEnvironment({})), ["PATH"]);
});

test("a flood keeps its head and tail, counts its bytes and is shown only in part", async (t) => {
  let shown = 0;
  const { call } = fixture(t, { onOutput: (_id, chunk) => (shown += chunk.length) });
  const outcome = await call("shell", { command: "echo first; yes 0123456789 | head -n 300000; echo last" });
  const text = textOf(outcome);
  assert.ok(text.length < 30_300, String(text.length));
  assert.match(text, /^first\n0123456789\n/);
  assert.match(text, /characters left out …\]\n/);
  assert.match(text, /0123456789\nlast\n\[output cut: 3300011 bytes in all\]$/);
  assert.equal(outcome.details?.["bytes"], 3_300_011);
  assert.ok(shown > 0 && shown < 400_000);
});

test("output is shown while the command runs", async (t) => {
  const controller = new AbortController();
  const { call } = fixture(t, {
    onOutput: (_id, chunk) => {
      if (chunk.includes("ready")) controller.abort();
    },
  });
  const outcome = await call("shell", { command: "echo ready; sleep 60" }, controller.signal);
  assert.match(textOf(outcome), /^ready\n\[aborted\]$/);
  assert.equal(outcome.isError, true);
});

test("a timeout and an abort end the whole group, also processes that ignore SIGTERM", async (t) => {
  const { call } = fixture(t);
  const mark = `77${process.pid}1`;
  const timedOut = await call("shell", { command: `sleep ${mark} & sleep ${mark}`, timeout: 1 });
  assert.match(textOf(timedOut), /ended after 1 s: timeout/);
  const controller = new AbortController();
  const stubborn = `(trap '' TERM; while :; do sleep 0.1; done; : ${mark}) & trap '' TERM; while :; do sleep 0.1; done`;
  const running = call("shell", { command: stubborn }, controller.signal);
  setTimeout(() => controller.abort(), 200);
  assert.match(textOf(await running), /\[aborted\]/);
  await noneWith(mark);
});

test("a background process does not outlive its call, nor hold it open", async (t) => {
  const { call } = fixture(t);
  const mark = `77${process.pid}2`;
  const outcome = await call("shell", {
    command: `nohup sleep ${mark} >/dev/null 2>&1 & sleep ${mark} & echo started`,
  });
  assert.equal(textOf(outcome), "started");
  await noneWith(mark);
});

longTest("a host process that exits ends its commands", async (t) => {
  const folder = temporaryFolder(t);
  const mark = `77${process.pid}3`;
  const script = join(folder, "host.ts");
  const toolset = new URL("../../packages/host/src/tool/toolset.ts", import.meta.url).href;
  writeFileSync(
    script,
    `import { createToolSet } from ${JSON.stringify(toolset)};
    const set = createToolSet({ cwd: ${JSON.stringify(folder)}, permission: { mode: "auto", sandbox: "off" },
      context: { sessionKey: "a", sessionId: "b" }, onOutput: () => process.exit(0) });
    await set.call({ type: "toolCall", id: "1", name: "shell", arguments: { command: "echo up; sleep ${mark}" } },
      new AbortController().signal);`,
  );
  execFileSync(process.execPath, [script], { stdio: "ignore" });
  await noneWith(mark);
});

for (const sandbox of ["off", "auto"] as const) {
  longTest(`a host process that is killed ends its commands (sandbox: ${sandbox})`, async (t) => {
    const folder = temporaryFolder(t);
    const mark = `77${process.pid}${sandbox === "off" ? 4 : 5}`;
    const script = join(folder, "host.ts");
    const toolset = new URL("../../packages/host/src/tool/toolset.ts", import.meta.url).href;
    writeFileSync(
      script,
      `import { createToolSet } from ${JSON.stringify(toolset)};
      const set = createToolSet({ cwd: ${JSON.stringify(folder)}, context: { sessionKey: "a", sessionId: "b" },
        permission: { mode: "auto", sandbox: ${JSON.stringify(sandbox)} },
        onOutput: () => process.kill(process.pid, "SIGKILL") });
      const command = "(trap '' TERM; sleep ${mark}) & sleep ${mark} & echo up; sleep ${mark}; echo on";
      await set.call({ type: "toolCall", id: "1", name: "shell", arguments: { command } }, new AbortController().signal);`,
    );
    assert.equal(spawnSync(process.execPath, [script], { stdio: "ignore" }).signal, "SIGKILL");
    await noneWith(mark);
  });
}

test("a command that waits for all of its children, or looks at its pipes, sees none of the host's", async (t) => {
  const { call } = fixture(t, { permission: { mode: "auto", sandbox: "off" } });
  const node = JSON.stringify(process.execPath);
  const pipes = `exec ${node} -e 'try { require("fs").fstatSync(3).isFIFO() || require("fs").fstatSync(3).isSocket() ? console.log("pipe") : console.log("none") } catch { console.log("none") }'`;
  assert.equal(textOf(await call("shell", { command: pipes })), "none");
  const children = "wait; { read -r c </proc/$$/task/$$/children; } 2>/dev/null; echo children: $c";
  assert.equal(textOf(await call("shell", { command: children })), "children:");
  assert.equal((await call("shell", { command: "kill -TERM $$" })).details?.["end"], "signal");
});

test("the sandbox confines writing where there is one, and its absence is reported", async (t) => {
  const { call, set, root } = fixture(t);
  const outside = join(homedir(), `.pagurus-sandbox-${process.pid}`);
  t.after(() => rmSync(outside, { force: true }));
  const outcome = await call("shell", {
    command: `echo in > inside.txt; echo tmp > "$(mktemp)"; echo out > ${outside}`,
  });
  assert.equal(readFileSync(join(root, "inside.txt"), "utf8"), "in\n");
  const { kind, detail } = await set.sandbox();
  if (kind === "none") assert.match(detail, /without a sandbox: .+\.$/);
  assert.equal(existsSync(outside), kind === "none");
  assert.equal(/\[sandbox: .*only in the workspace/.test(textOf(outcome)), kind !== "none");
});

test("a home under the temporary folder is empty and read-only to commands as any other (finding G2)", async (t) => {
  const home = temporaryFolder(t);
  writeFileSync(join(home, "private.txt"), "private");
  mkdirSync(join(home, ".cargo", "bin"), { recursive: true });
  writeFileSync(join(home, ".cargo", "bin", "seen.txt"), "seen");
  const env = { PATH: process.env["PATH"], HOME: home };
  const { call, set, root } = fixture(t, { env });
  const outcome = await call("shell", {
    command: "cat ~/.cargo/bin/seen.txt; pwd > here.txt; cat ~/private.txt; echo x > ~/made.txt",
  });
  assert.match(textOf(outcome), /^seen/);
  assert.equal(existsSync(join(root, "here.txt")), true);
  const { kind } = await set.sandbox();
  assert.equal(existsSync(join(home, "made.txt")), kind === "none");
  assert.equal(/Read-only file system/.test(textOf(outcome)), kind === "bwrap");
  assert.equal(/private$/m.test(textOf(outcome)), kind === "none");
});

test("a sandbox that is required and missing stops the command before it runs", async (t) => {
  const env = { PATH: "" };
  const { call, set, root } = fixture(t, { env, permission: { mode: "auto", sandbox: "require" } });
  const outcome = await call("shell", { command: "echo x > made.txt" });
  const { kind } = await set.sandbox();
  assert.equal(existsSync(join(root, "made.txt")), kind !== "none");
  if (kind === "none") assert.match(textOf(outcome), /requires a sandbox/);
  const off = fixture(t, { permission: { mode: "auto", sandbox: "off" } });
  assert.match((await off.set.sandbox()).detail, /configuration turns it off/);
  assert.equal(createSandbox({ ...ANYWHERE, root: "/", env: {} }).report.kind, "none");
});

test("a bubblewrap that cannot create namespaces counts as missing", { concurrency: false }, (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "bwrap"), "#!/bin/sh\nexit 1\n");
  chmodSync(join(folder, "bwrap"), 0o755);
  const { report } = createSandbox({ ...ANYWHERE, root: temporaryFolder(t), env: { PATH: folder } });
  assert.equal(report.kind, process.platform === "darwin" ? "sandbox-exec" : "none");
  if (process.platform === "linux") assert.match(report.detail, /does not let it make namespaces/);
});

test("sandbox arguments: outer folders before inner ones, no capabilities, quoted profile", () => {
  const mounts = { root: "/tmp/a/work", hidden: [], shown: ["/usr"], empty: ["/h"], held: [], git: NO_GIT };
  const args = bwrapArguments(mounts, { proc: "own", network: "off" });
  assert.ok(!args.join(" ").includes("bind / /"), "the whole disk is not shown");
  assert.match(args.join(" "), /--ro-bind \/usr \/usr --dir \/h .*--remount-ro \/ /);
  assert.ok(args.indexOf("/tmp") < args.indexOf("/tmp/a/work"));
  assert.ok(args.includes("--unshare-net"));
  assert.ok(args.join(" ").includes("--cap-drop ALL --die-with-parent --"));
  const places = {
    root: '/a"b',
    scratch: "/s",
    hidden: ["/h"],
    shown: ["/h/x"],
    empty: [],
    held: [],
    git: NO_GIT,
  };
  const profile = seatbeltProfile({ ...places, network: "on" });
  assert.ok(profile.includes(String.raw`(subpath "/a\"b")`));
  assert.ok(
    profile.indexOf('deny file-read* file-write* (subpath "/h")') < profile.indexOf('(subpath "/h/x")'),
  );
});

test("on macOS the places of people are closed but for toolchains and the workspace (finding 6.1)", () => {
  const [home, root] = ["/Users/me", "/Users/me/code/app"];
  const profile = seatbeltProfile({
    root,
    scratch: "/private/var/folders/x/scratch",
    empty: [home],
    shown: [`${home}/.cargo/bin`, `${home}/.nvm`],
    hidden: [`${home}/.nvm/.npmrc`, `${root}/conf`],
    held: [],
    git: NO_GIT,
    network: "on",
  });
  const lines = profile.split("\n");
  /** The last rule with a place that holds the path decides. */
  const reads = (path: string): boolean => {
    const rules = lines.filter((line) => line.includes("file-read* ") || line.startsWith("(deny file-read*"));
    const holds = (line: string): boolean =>
      [...line.matchAll(/\(subpath "([^"]+)"\)/g)].some(([, place]) => `${path}/`.startsWith(`${place}/`));
    return rules.findLast(holds)?.startsWith("(allow") ?? true;
  };
  for (const path of [
    `${root}/src/a.ts`,
    `${home}/.cargo/bin/x`,
    `${home}/.nvm/v24`,
    "/usr/bin/git",
    "/opt/x",
  ])
    assert.equal(reads(path), true, path);
  for (const name of [
    ".ssh/id",
    ".cargo/credentials.toml",
    ".nvm/.npmrc",
    "code/other/.env",
    "code/app/conf/x",
    "new",
  ])
    assert.equal(reads(`${home}/${name}`), false, name);
  for (const path of ["/Users/other/x", "/Volumes/stick/x", "/private/var/root/.ssh", "/private/tmp/x"])
    assert.equal(reads(path), false, path);
  assert.ok(lines.includes(`(allow file-read-metadata (literal "${home}/code"))`));
});

test("search returns the same with and without ripgrep", async (t) => {
  const { write, call, root } = fixture(t);
  write("a/one.txt", "alpha\nbeta\n");
  write("a-b/two.txt", "ALPHA\r\nalphabet\n");
  write("a/.hidden", "alpha");
  write("ignored/x.txt", "alpha");
  write("deep/.gitignore", "*.log\n!keep.log\n");
  write("deep/a.log", "alpha");
  write("deep/keep.log", "alpha");
  write("node_modules/m.txt", "alpha");
  write(".git/config", "alpha");
  write(".gitignore", "ignored/\n");
  write("bin", Buffer.from("\0alpha"));
  write("ümlaut/é.txt", "straße alpha 😀\n");
  const plain = fixture(t, { cwd: root, env: { PATH: "" } });
  for (const params of [
    { pattern: "alpha" },
    { pattern: "ALPHA", ignore_case: true },
    { pattern: "^a.*t$", path: "a-b" },
    { pattern: "alpha", glob: "*.txt" },
    { pattern: "alpha", glob: "a/**" },
    { pattern: "alpha", path: "a/one.txt" },
    { pattern: "alpha", path: "node_modules" },
    { pattern: "(?=alpha)al", limit: 2 },
    { pattern: "(", limit: 2 },
    { pattern: "\\w+ß" },
    { pattern: "none at all" },
  ]) {
    const [first, second] = [await call("search", params), await plain.call("search", params)];
    assert.equal(textOf(first), textOf(second), JSON.stringify(params));
  }
});

test("search falls back to plain Node with a broken ripgrep", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "rg"), "#!/bin/sh\necho nonsense\nexit 0\n");
  chmodSync(join(folder, "rg"), 0o755);
  assert.equal(findProgram("rg", { env: { PATH: `relative:${folder}` } }).file, join(folder, "rg"));
  const { write, call } = fixture(t, { env: { PATH: folder } });
  write("a.txt", "alpha");
  assert.equal(textOf(await call("search", { pattern: "alpha" })), "a.txt:1: alpha");
});
