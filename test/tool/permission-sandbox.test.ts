import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { PermissionConfig } from "../../packages/core/src/config/config-types.ts";
import type { PermissionQuestion } from "../../packages/contract/src/host/run.ts";
import type { Access } from "../../packages/host/src/tool/host-tool.ts";
import { createPermissions } from "../../packages/host/src/tool/tool-permission.ts";
import { usesNetwork } from "../../packages/host/src/tool/shell/network-words.ts";
import { findProgram } from "../../packages/core/src/platform/executables.ts";
import { fixture, temporaryFolder, textOf } from "./fixture.ts";

const ROOT = "/ws";
const SIGNAL = new AbortController().signal;
const inside = (path: string) => ({ path: `${ROOT}/${path}`, shown: path, inside: true });
const outside = (path: string) => ({ path, shown: path, inside: false });
const shell = (command: string, more: { network?: boolean; unconfined?: boolean } = {}): Access => ({
  kind: "shell",
  command,
  folder: inside(""),
  ...more,
});

interface Setup {
  permission?: PermissionConfig;
  /** Whether the sandbox works. */
  works?: boolean;
  isAsked?: boolean;
}

function setting({ permission = {}, works = true, isAsked = true }: Setup = {}) {
  const questions: PermissionQuestion[] = [];
  const counts = { tested: 0 };
  const permissions = createPermissions({
    permission: { mode: "sandbox", ...permission },
    root: ROOT,
    confines: () => {
      counts.tested += 1;
      return Promise.resolve(works);
    },
    places: () => ({
      refusal: () => undefined,
      isSecret: (path) => path.startsWith("/home/"),
      startPlace: (path) =>
        path.endsWith("AGENTS.md") ? { kind: "instructions", names: ["AGENTS.md"] } : undefined,
    }),
    ...(isAsked
      ? {
          ask: (question: PermissionQuestion) => {
            questions.push(question);
            return Promise.resolve("once" as const);
          },
        }
      : {}),
  });
  const call = (tool: string, access: Access) => permissions.refusal(tool, { access }, SIGNAL);
  return { permissions, questions, counts, call };
}

/** Calls that a command in the sandbox could make as well. */
const HELD: [string, Access][] = [
  ["shell", shell("npm test")],
  ["write", { kind: "write", path: inside("a.txt") }],
  ["edit", { kind: "write", path: inside("src/a.ts") }],
  ["write", { kind: "write", path: inside("AGENTS.md"), harmless: true }],
  ["read", { kind: "read", path: outside("/usr/include/stdio.h") }],
];
const LEAVES: [string, Access][] = [
  ["shell", shell("curl https://a.example/", { network: true })],
  ["shell", shell("ls", { unconfined: true })],
  ["write", { kind: "write", path: outside("/etc/hosts") }],
  ["write", { kind: "write", path: inside("AGENTS.md") }],
  ["write", { kind: "write", path: inside(".git/index") }],
  ["generate_image", { kind: "write", path: inside("a.png"), sends: true }],
  ["read", { kind: "read", path: outside("/home/me/.ssh/id_rsa") }],
  ["web_fetch", { kind: "fetch", url: new URL("https://a.example/"), local: false }],
  ["web_fetch", { kind: "fetch", url: new URL("http://localhost/"), local: true }],
  ["mcp__x__y", { kind: "plugin", readOnly: false, source: "the server x" }],
];

test("in mode sandbox what the sandbox holds runs without a question", async () => {
  const { call, questions } = setting();
  for (const [tool, access] of HELD) assert.equal(await call(tool, access), undefined, tool);
  assert.deepEqual(questions, []);
});

test("in mode sandbox each call that would leave the sandbox asks", async () => {
  const { call, questions } = setting();
  for (const [tool, access] of LEAVES) assert.equal(await call(tool, access), undefined, tool);
  assert.deepEqual(
    questions.map(({ toolName }) => toolName),
    LEAVES.map(([tool]) => tool),
  );
  assert.equal(questions[0]?.summary, "curl https://a.example/ (with the network)");
});

test("a refusal without a terminal says that no person was asked, and what would leave the sandbox", async () => {
  const { call } = setting({ isAsked: false });
  for (const [tool, access] of LEAVES) {
    const refusal = (await call(tool, access)) ?? "";
    assert.match(
      refusal,
      /^Permission denied: no person can be asked here, and it (uses|runs|writes|reads|sends|reaches) /,
    );
    assert.doesNotMatch(refusal, /the user said no/);
  }
});

test("without a working sandbox mode sandbox asks like mode ask", async () => {
  const { call, questions } = setting({ works: false });
  for (const [tool, access] of [...HELD, ...LEAVES]) await call(tool, access);
  assert.equal(questions.length, HELD.length + LEAVES.length);
});

test("reading in the workspace does not test the sandbox", async () => {
  const { call, counts } = setting();
  await call("read", { kind: "read", path: inside("a.txt") });
  assert.equal(counts.tested, 0);
  await call("write", { kind: "write", path: inside("a.txt") });
  assert.equal(counts.tested, 1);
});

test("a deny rule holds in mode sandbox, and an allow rule lets a call leave it without a question", async () => {
  const { call, questions, permissions } = setting({
    permission: { deny: [{ tool: "shell", match: "rm *" }], allow: [{ tool: "shell", match: "npm ci" }] },
  });
  assert.match((await call("shell", shell("rm -r src"))) ?? "", /denied/);
  assert.equal(await call("shell", shell("npm ci", { network: true })), undefined);
  assert.deepEqual(questions, []);
  assert.equal(permissions.network("shell", shell("npm ci")), "on");
});

test("a command has the network in mode sandbox only with an answer, a rule or the configuration", async () => {
  const { permissions } = setting();
  assert.equal(permissions.network("shell", shell("make")), "off");
  assert.equal(permissions.network("shell", shell("make", { network: true })), "on");
  for (const network of ["on", "off"] as const) {
    const { permissions: configured, call, questions } = setting({ permission: { network } });
    assert.equal(configured.network("shell", shell("make")), undefined);
    assert.equal(await call("shell", shell("curl x", { network: true })), undefined);
    assert.deepEqual(questions, []);
  }
  assert.equal(
    setting({ permission: { mode: "auto" } }).permissions.network("shell", shell("make")),
    undefined,
  );
});

test("an answer of unasked says that there was no person to ask", async () => {
  const permissions = createPermissions({
    permission: { mode: "ask" },
    root: ROOT,
    ask: () => Promise.resolve("unasked"),
  });
  const refusal = await permissions.refusal("shell", { access: shell("ls") }, SIGNAL);
  assert.match(refusal ?? "", /no person can be asked here/);
});

test("commands that use the network are known by their words, and others are not taken for them", () => {
  for (const command of [
    "curl -s https://a.example/",
    "npm ci && npm test",
    "time npm install",
    "HTTPS_PROXY=x git -C sub push origin main",
    "echo a | xargs -n 1 wget",
    "/usr/bin/ssh host",
    "(cd sub; npx tsc)",
  ])
    assert.equal(usesNetwork(command), true, command);
  for (const command of [
    "npm test",
    "npm run build",
    "git status",
    "git log --grep push",
    "git commit -m 'fetch the page with curl'",
    "grep -rn curl src",
    "node fetch.js",
    "cat <<EOF > a.sh\ncurl x\nEOF",
    "rm -r build",
  ])
    assert.equal(usesNetwork(command), false, command);
});

test("the network of a command follows the mode's decision", async (t) => {
  const { call, set } = fixture(t, { permission: { mode: "sandbox" } });
  const { kind } = await set.sandbox();
  if (kind === "none") {
    assert.match(textOf(await call("shell", { command: "ls" })), /no person can be asked here/);
    return;
  }
  const interfaces = "cat /proc/net/dev | grep -vc 'lo:\\|Inter\\|face' || true";
  const outcome = await call("shell", { command: interfaces });
  assert.equal(textOf(outcome).trim(), "0", "a command sees its own loopback alone");
  const refused = await call("shell", { command: interfaces, network: true });
  assert.match(textOf(refused), /no person can be asked here, and it uses the network/);
  const failed = await call("shell", { command: "node -e \"require('http').get('http://127.0.0.1:9/')\"" });
  assert.match(textOf(failed), /"network": true/);
});

test("where the system gives commands no network of their own, they keep the sandbox, and mode sandbox asks", async (t) => {
  const folder = temporaryFolder(t);
  const real = findProgram("bwrap", { env: process.env, workspaces: [] }).file;
  if (real === undefined) return t.diagnostic("without bubblewrap there is nothing to replace");
  const refusing = join(folder, "bwrap");
  const script = `#!/bin/sh\ncase " $* " in *" --unshare-net "*) exit 1;; esac\nexec ${real} "$@"\n`;
  writeFileSync(refusing, script, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}` };
  const asked: string[] = [];
  const ask = ({ summary }: PermissionQuestion) => {
    asked.push(summary);
    return Promise.resolve("once" as const);
  };
  const { call, set } = fixture(t, { permission: { mode: "sandbox" }, env, ask });
  const { kind, detail, keepsNetwork } = await set.sandbox();
  if (kind === "none") return t.diagnostic(detail);
  assert.deepEqual([kind, keepsNetwork], ["bwrap", true]);
  assert.match(detail, /mode sandbox asks like ask here/);
  const outcome = await call("shell", { command: "ls /home; echo ran" });
  assert.deepEqual(asked, ["ls /home; echo ran"]);
  assert.match(textOf(outcome), /ran/);
});

test("a command that a runtime runs by itself asks, as no sandbox of the host is around it; its writes in the workspace do not", async (t) => {
  const asked: string[] = [];
  const ask = ({ summary }: PermissionQuestion) => {
    asked.push(summary);
    return Promise.resolve("deny" as const);
  };
  const { set, call } = fixture(t, { permission: { mode: "sandbox" }, ask });
  if ((await set.sandbox()).kind === "none") return t.diagnostic("no sandbox here");
  const permits = (name: string, params: Record<string, unknown>) =>
    set.permits({ type: "toolCall", id: "n", name, arguments: params }, SIGNAL);
  assert.match((await permits("shell", { command: "ls" })) ?? "", /the user said no/);
  assert.deepEqual(asked, ["ls"]);
  assert.equal(await permits("write", { path: "a.txt", content: "x" }), undefined);
  assert.match((await permits("write", { path: "AGENTS.md", content: "x" })) ?? "", /the user said no/);
  assert.equal(asked.length, 2);
  assert.equal((await call("shell", { command: "true" })).isError, false);
  assert.equal(asked.length, 2, "the host's own command is in the sandbox");
});
