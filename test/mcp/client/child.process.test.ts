import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerChild } from "../../../packages/host/src/mcp/client/mcp-child.ts";

test("a program that may not be signalled does not end the host", async (t) => {
  const child = await ServerChild.start(
    { command: process.execPath, args: ["-e", "process.stdin.resume()"], env: {}, cwd: undefined },
    [],
  );
  const real = process.kill.bind(process);
  const kill = t.mock.method(process, "kill", (pid: number, signal: NodeJS.Signals | 0) => {
    if (signal === 0) return real(pid, signal);
    throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
  });
  await child.end();
  assert.ok(kill.mock.callCount() > 0);
  kill.mock.restore();
  assert.equal(await child.exited, "ended with code 0");
});
