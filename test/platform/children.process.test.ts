/** No child outlives a host that was killed, whatever the child ignores. */
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { attempt } from "../../packages/core/src/data/attempt.ts";
import { processIds, processIsAlive } from "../../packages/core/src/platform/process-group.ts";
import { COMPILE_CACHE } from "../runner/compile-cache.ts";
import { until } from "../runner/until.ts";

const HOST = join(import.meta.dirname, "children.child.ts");
/** Ignores its input and polite signals, and has a child in its group and one in another process session. */
const STUBBORN = `#!/bin/sh
PATH=/usr/bin:/bin
trap "" HUP TERM INT
sleep 300 &
setsid sleep 300 &
while :; do sleep 300; done
`;

/** Starts a host with one child of the kind. `left`: its processes, also those in a sandbox, without the host. */
function started(t: TestContext, kind: string): { host: ChildProcess; left(): number[] } {
  const root = mkdtempSync(join(tmpdir(), "pagurus-children-"));
  const program = join(root, "stubborn");
  writeFileSync(program, STUBBORN, { mode: 0o755 });
  const host = spawn(process.execPath, [HOST, kind], {
    cwd: root,
    stdio: "ignore",
    env: { ...process.env, ...COMPILE_CACHE, STUBBORN: program },
  });
  const left = (): number[] =>
    processIds().filter((pid) => {
      if (pid === host.pid || !processIsAlive(pid)) return false;
      return (
        attempt(() => readFileSync(`/proc/${pid}/environ`, "utf8"))?.includes(`STUBBORN=${program}`) === true
      );
    });
  t.after(() => {
    host.kill("SIGKILL");
    for (const pid of left()) process.kill(pid, "SIGKILL");
    rmSync(root, { recursive: true, force: true });
  });
  return { host, left };
}

/** Whether `setsid` has made the process a session of its own, and has become the program. */
function isDetachedSleep(pid: number): boolean {
  const [, , , , , session] = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"))?.split(" ") ?? [];
  const words = attempt(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"));
  return session === `${pid}` && words?.startsWith("sleep") === true;
}

const kinds = spawnSync(process.execPath, [HOST, "kinds"], { encoding: "utf8" }).stdout.trim().split(" ");

suite("a child of a killed host", { skip: process.platform !== "linux", concurrency: 3 }, () => {
  assert.ok(kinds.length >= 12);
  for (const kind of kinds) {
    test(`is gone with all that it started: ${kind}`, { timeout: 60_000 }, async (t) => {
      const { host, left } = started(t, kind);
      await until(
        () => left().length >= 4,
        () => `${left().length} processes of ${kind}`,
      );
      host.kill("SIGKILL");
      await until(() => left().length === 0);
    });
  }

  for (const kind of ["mcp", "rpc", "shell"]) {
    test(`is gone with its group when the host exits: ${kind}`, async (t) => {
      const { host, left } = started(t, kind);
      await until(() => left().length >= 4 && left().some(isDetachedSleep));
      host.kill("SIGUSR2");
      // The process that it detached on purpose keeps running.
      await until(
        () => left().length === 1,
        () => `${left().length} processes of ${kind}`,
      );
    });
  }

  test("has a new guard when the guard was killed", async (t) => {
    const { host, left } = started(t, "mcp");
    await until(() => left().length >= 4);
    const guards = () =>
      processIds().filter(
        (pid) =>
          attempt(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"))?.includes("pagurus-guard") === true &&
          attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"))
            ?.split(") ")[1]
            ?.split(" ")[1] === `${host.pid}`,
      );
    const [first = 0] = guards();
    process.kill(first, "SIGKILL");
    await until(() => guards().some((pid) => pid !== first));
    host.kill("SIGKILL");
    await until(() => left().length === 0);
  });
});
