/** Escapes of a command through the kernel, beside its files: keys of the user's session, other sockets, setuid programs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fixture, textOf } from "./fixture.ts";

const CAN_CONFINE =
  spawnSync("bwrap", ["--ro-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"]).status === 0;
/** Numbers of the calls that are tried. */
const CALLS = {
  x64: { addKey: 248, requestKey: 249, keyctl: 250, socket: 41, ioUring: 425, openat2: 437 },
  arm64: { addKey: 217, requestKey: 218, keyctl: 219, socket: 198, ioUring: 425, openat2: 437 },
}[process.arch as "x64" | "arm64"];
const NEEDED = { skip: CAN_CONFINE && CALLS ? false : "no bubblewrap, or another processor" };

const SECRET = "a-key-of-the-session";
/** Keyrings: of the session, of the user. */
const [SESSION, USER] = [-3, -4];

/** Tries each call and prints its name with the number of the error, or `done`. */
function tries(): string {
  const { addKey, requestKey, keyctl, socket, ioUring, openat2 } = CALLS;
  const calls: readonly [string, string][] = [
    ["reads the session's keyring", `${keyctl}, 10, ${SESSION}, $user, $name, 0`],
    ["reads the user's keyring", `${keyctl}, 10, ${USER}, $user, $name, 0`],
    ["adds a key", `${addKey}, $user, $left, $left, 4, ${SESSION}`],
    ["asks for a key", `${requestKey}, $user, $name, 0, 0`],
    ["opens a vsock socket", `${socket}, 40, 1, 0`],
    ["opens a unix socket", `${socket}, 1, 1, 0`],
    ["opens an internet socket", `${socket}, 2, 1, 0`],
    ["opens a netlink socket", `${socket}, 16, 3, 0`],
    ["sets up io_uring", `${ioUring}, 1, 0`],
    ["opens with hidden flags", `${openat2}, -100, $left, 0, 0`],
  ];
  const lines = calls.map(
    ([name, call]) => `$! = 0; $r = syscall(${call}); print "${name}: ", ($r < 0 ? $!+0 : "done"), "\\n";`,
  );
  return `($user, $name, $left) = ("user", "pagurus-test", "left");\n${lines.join("\n")}\n`;
}

test(
  "a command reads no key of the user's session and opens no socket that is neither of the internet nor netlink",
  NEEDED,
  async (t) => {
    const { root, base } = fixture(t, { permission: { mode: "auto", sandbox: "require" } });
    writeFileSync(join(root, "tries.pl"), tries());
    // A session with a key in it, of which the host's process and so the command are a part.
    const host = join(base, "session.pl");
    const { addKey, keyctl } = CALLS;
    writeFileSync(
      host,
      `($user, $name, $key) = ("user", "pagurus-test", "${SECRET}");
syscall(${keyctl}, 1, 0) >= 0 or exit 77;
syscall(${addKey}, $user, $name, $key, ${SECRET.length}, ${SESSION}) >= 0 or exit 77;
exec @ARGV;
`,
    );
    const inSession = (command: readonly string[]) =>
      spawnSync("perl", [host, ...command], { cwd: root, encoding: "utf8", timeout: 120_000 });
    const outside = inSession(["perl", "tries.pl"]);
    if (outside.status === 77) return t.skip("the kernel has no keyrings");
    assert.match(outside.stdout, /reads the session's keyring: done/);
    const child = join(import.meta.dirname, "escape-kernel.child.ts");
    const confined = inSession([process.execPath, child, root]);
    const results = confined.stdout.split("\n").filter((line) => /^\w.*: /.test(line));
    const expected = [
      "reads the session's keyring: 1",
      "reads the user's keyring: 1",
      "adds a key: 1",
      "asks for a key: 1",
      "opens a vsock socket: 1",
      "opens a unix socket: 1",
      "opens an internet socket: done",
      "opens a netlink socket: done",
      "sets up io_uring: 1",
      "opens with hidden flags: 38",
    ];
    assert.deepEqual(results, expected, confined.stdout + confined.stderr);
  },
);

test("a command leaves no setuid file, in whatever way it sets the bit", NEEDED, async (t) => {
  const { root, call } = fixture(t, { permission: { mode: "auto", sandbox: "require" } });
  writeFileSync(join(root, "program"), "#!/bin/sh\n", { mode: 0o755 });
  mkdirSync(join(root, "shared"));
  const command = [
    "chmod u+s program",
    "chmod 6755 program",
    "perl -e 'chmod 04755, q(program)'",
    "perl -e 'use Fcntl; sysopen(F, q(opened), O_CREAT | O_WRONLY, 04755)'",
    "install -m 4755 program installed",
    "cp -p /usr/bin/passwd copied",
    "tar -cf - --mode=4755 program | (mkdir -p out && tar -C out -xpf -)",
    // The bit of a group's folder stays possible: its files are shared by it.
    "chmod g+s shared && stat -c 'shared %a' shared",
  ].join("; ");
  const output = textOf(await call("shell", { command, timeout: 60 }));
  assert.match(output, /shared 2\d+/);
  const names = readdirSync(root, { recursive: true, encoding: "utf8" });
  assert.ok(names.includes("program"));
  for (const name of names) assert.equal(statSync(join(root, name)).mode & 0o4000, 0, `${name}: ${output}`);
});

test("programs that look at files with the newest call still work", NEEDED, async (t) => {
  const { root, call } = fixture(t, { permission: { mode: "auto", sandbox: "require" } });
  const command =
    "cp -a /usr/share/doc/bash copied; tar -cf all.tar copied; git init -q a && ls copied | head -1";
  const output = textOf(await call("shell", { command, timeout: 60 }));
  assert.doesNotMatch(output, /not implemented|not permitted/i);
  assert.ok(readFileSync(join(root, "all.tar")).length > 0);
});
