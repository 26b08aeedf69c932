/** What commands and reading tools see of the disk, with secrets planted in places of the home and the system. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "./fixture.ts";
import { IN_HOME, IN_SYSTEM } from "./planted-secrets.ts";

const AS_ROOT = process.getuid?.() === 0;
const REPOSITORY = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** A mount namespace in which the test may plant files in the system's folders. */
const NAMESPACE = AS_ROOT ? ["-m", "--propagation", "private"] : ["-Urm"];
const CAN_PLANT =
  process.platform === "linux" &&
  spawnSync("unshare", [
    ...NAMESPACE,
    "bwrap",
    "--ro-bind",
    "/",
    "/",
    "--unshare-pid",
    "--proc",
    "/proc",
    "true",
  ]).status === 0;
/** An ordinary user without an entry in the system. */
const ORDINARY = 54_321;

interface Seen {
  kind: string;
  detail: string;
  shown: Record<string, string[]>;
  network: string;
  toolchain: string;
  own: string;
  settings: string;
}

/** The shell script of a namespace that plants the system's secrets, in folders that are empty there, and runs the command. */
function plantingScript(base: string, owner: number, command: string): string {
  const folders = "/srv /mnt /media /home /root /opt /usr/local/etc /var/backups /var/mail /run".split(" ");
  const plants = IN_SYSTEM.map(
    ([path, mode], index) =>
      `mkdir -p '${dirname(path)}' && echo 'PLANTED-${100 + index}-' > '${path}' && chmod ${mode.toString(8)} '${path}' && chown ${owner} '${path}'`,
  );
  return [
    `mkdir -p ${base}/repository ${base}/node ${base}/etc ${base}/tmp`,
    `mount --bind '${REPOSITORY}' ${base}/repository`,
    `mount --bind '${dirname(process.execPath)}' ${base}/node`,
    // An ordinary user can copy only a part of it.
    `cp -a /etc/. ${base}/etc/ 2>/dev/null || true`,
    `mount --bind ${base}/etc /etc`,
    ...folders
      .filter((folder) => existsSync(folder))
      .map((folder) => `mount -t tmpfs -o mode=755 tmpfs ${folder}`),
    ...plants,
    command,
  ].join("\n");
}

/** Runs the child as that user, with the secrets in place; nothing of the system itself changes. */
async function tryToRead(t: TestContext, uid: number, sent: () => number): Promise<Seen> {
  const base = temporaryFolder(t);
  chmodSync(base, 0o755);
  const [root, home] = [join(base, "workspace"), join(base, "home")];
  mkdirSync(root);
  const write = (file: string, text: string, mode = 0o600): void => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
  };
  IN_HOME.forEach((path, index) => write(join(home, path), `[x]\n\ttoken = "PLANTED-${index}-"\n`));
  write(join(home, ".cargo/bin/tool"), "a toolchain's program\n");
  write(join(home, ".rustup/settings.toml"), "a toolchain's settings\n");
  write(join(root, ".env"), "PROJECT=own\n");
  const paths = [...IN_HOME.map((path) => join(home, path)), ...IN_SYSTEM.map(([path]) => path)];
  write(join(base, "planted.json"), JSON.stringify(paths), 0o644);
  if (AS_ROOT) spawnSync("chown", ["-R", String(uid), root, home]);
  const as = AS_ROOT && uid !== 0 ? `setpriv --reuid ${uid} --regid ${uid} --clear-groups ` : "";
  const child = join(base, "repository/test/tool/secrets.child.ts");
  const command = `exec ${as}${base}/node/node ${child} ${root} ${home} ${sent()} ${join(base, "planted.json")}`;
  const env = {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    HOST_KEY: "PLANTED-999-",
    HOME: home,
    LANG: "C",
  };
  const { stdout } = await promisify(execFile)(
    "unshare",
    [...NAMESPACE, "sh", "-ec", plantingScript(base, AS_ROOT ? uid : 0, command)],
    { env, maxBuffer: 64 * 1024 * 1024 },
  );
  return JSON.parse(stdout) as Seen;
}

for (const [user, uid] of AS_ROOT
  ? ([
      ["root", 0],
      ["an ordinary user", ORDINARY],
    ] as const)
  : ([["this user", 0]] as const)) {
  test(`none of ${IN_HOME.length + IN_SYSTEM.length} planted secrets is read as ${user}, with the network on (findings 6.1, 3.1)`, async (t) => {
    // Without a sandbox nothing is hidden from commands, and the tools report that: see escape.process.test.ts.
    if (!CAN_PLANT) return;
    let received = "";
    const listener = createServer((socket) => socket.on("data", (data) => (received += String(data))));
    t.after(() => listener.close());
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const address = listener.address();
    const seen = await tryToRead(t, uid, () => (typeof address === "object" ? (address?.port ?? 0) : 0));
    assert.equal(seen.kind, "bwrap", seen.detail);
    assert.deepEqual(
      Object.fromEntries(Object.entries(seen.shown).filter(([, found]) => found.length > 0)),
      {},
      "secrets that each way showed",
    );
    assert.match(seen.network, /sent/, "the network is on");
    assert.doesNotMatch(received, /PLANTED/);
    // The control: toolchains and the project's own files are there.
    assert.match(seen.toolchain, /a toolchain's program\na toolchain's settings\nPROJECT=own/);
    assert.match(seen.toolchain, /Read-only file system/);
    assert.match(seen.own, /PROJECT=own/);
    assert.doesNotMatch(seen.settings, /changed|^\/(?:proc|sys)\S*$/m, "nothing of the kernel is writable");
    assert.equal(/runs as root/.test(seen.detail), uid === 0);
  });
}
