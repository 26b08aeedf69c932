/** An MCP server that ignores the end of its input and SIGTERM does not outlive a command that is killed. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { processIsAlive } from "../../packages/core/src/platform/process-group.ts";
import { LAUNCHER } from "../runner/program.ts";
import { until } from "../runner/until.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { inputOf } from "../runner/child-input.ts";

/** Never answers; a turn waits for its tools meanwhile. */
const SERVER = `trap "" HUP TERM INT; echo $$ >> "$PIDS"; sleep 300 & while :; do sleep 300; done`;

/** A setting whose turns start the server, and the pids of the servers. */
function withServer(t: TestContext): { setting: Setting; pids(): number[] } {
  const setting = makeSetting();
  const file = join(setting.root, "pids");
  const servers = { stuck: { command: "/bin/sh", args: ["-c", SERVER], env: { PIDS: file } } };
  const config = modelConfig("openai-completions", "http://127.0.0.1:9", {}, { mcp: { servers } });
  writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
  const pids = (): number[] =>
    existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map(Number) : [];
  t.after(() => {
    for (const pid of pids()) if (processIsAlive(pid)) process.kill(-pid, "SIGKILL");
    setting.remove();
  });
  return { setting, pids };
}

function command(setting: Setting, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [LAUNCHER, ...args], {
    cwd: setting.workspace,
    env: setting.env,
    stdio: ["pipe", "ignore", "ignore"],
  });
}

async function killed(t: TestContext, host: ChildProcess, pids: () => number[]): Promise<void> {
  t.after(() => host.kill("SIGKILL"));
  await until(() => pids().length > 0);
  assert.ok(pids().every(processIsAlive));
  host.kill("SIGKILL");
  await until(() => !pids().some(processIsAlive));
}

suite("an MCP server of a killed", { skip: process.platform === "win32", concurrency: 3 }, () => {
  test("pagurus run is gone", async (t) => {
    const { setting, pids } = withServer(t);
    await killed(t, command(setting, ["run", "Hello"]), pids);
  });

  test("pagurus chat is gone", async (t) => {
    const { setting, pids } = withServer(t);
    const host = command(setting, ["chat"]);
    inputOf(host).write("Hello\n");
    await killed(t, host, pids);
  });

  test("pagurus serve is gone", async (t) => {
    const { setting, pids } = withServer(t);
    const server = await ServeProcess.start(setting);
    const { status } = await server.call("POST", "/api/v1/sessions/main/turns", { prompt: "Hello" });
    assert.equal(status, 202);
    await killed(t, server.child, pids);
  });
});
