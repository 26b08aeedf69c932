import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { processIsAlive } from "../../packages/core/src/platform/process-group.ts";
import { firstOf } from "../runner/long-tests.ts";
import { until } from "../runner/until.ts";

suite("however a host ends", { concurrency: 3 }, () => {
  for (const way of firstOf(["kill", "exit", "throw"])) {
    test(`(${way}) no bridge and no server is left`, async (t) => {
      const home = mkdtempSync(join(tmpdir(), "pagurus-mcp-"));
      t.after(() => rmSync(home, { recursive: true }));
      const pids = join(home, "pids");
      const host = spawn(process.execPath, [join(import.meta.dirname, "host.child.ts"), way, home], {
        env: { PATH: process.env["PATH"], PIDS: pids },
        stdio: ["ignore", "pipe", "ignore"],
      });
      const ended = once(host, "exit");
      const [line] = (await once(host.stdout, "data")) as [Buffer];
      const folder = line.toString().trim();
      if (way === "kill") {
        assert.equal(existsSync(folder), true);
        host.kill("SIGKILL");
      }
      await ended;
      const started = readFileSync(pids, "utf8").trim().split("\n").map(Number);
      assert.equal(started.length, way === "kill" ? 2 : 4);
      await until(() => started.every((pid) => !processIsAlive(pid)));
      // The folder of a killed host stays until a later host removes it.
      assert.equal(existsSync(folder), way === "kill");
      rmSync(folder, { recursive: true, force: true });
    });
  }
});
