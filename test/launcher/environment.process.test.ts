/** What `/proc/<pid>/environ` of a running host shows. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inputOf } from "../runner/child-input.ts";
import { until } from "../runner/until.ts";

const LAUNCHER = fileURLToPath(new URL("../../bin/pagurus.js", import.meta.url));

test("the environment block of a running host holds no key, and the host itself still has the variables (finding 6.2)", async (t) => {
  if (process.platform !== "linux") {
    assert.notEqual(process.platform, "linux");
    return;
  }
  const root = realpathSync(mkdtempSync(join(tmpdir(), "pagurus-environment-")));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const key = "sk-ant-planted-0123456789";
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: root,
    PAGURUS_HOME: join(root, "own"),
    PAGURUS_NO_PROBE: "1",
    PAGURUS_CHILD: "mark-of-a-host",
    ANTHROPIC_API_KEY: key,
    EMPTY: "",
    ODD: "a=b=c\n\u00e4",
  };
  const child = spawn(process.execPath, [LAUNCHER, "acp"], {
    cwd: root,
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  t.after(() => child.kill("SIGKILL"));
  const block = (): string => readFileSync(`/proc/${child.pid}/environ`, "utf8");
  const request = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: 1, clientCapabilities: {} },
  };
  inputOf(child).write(`${JSON.stringify(request)}\n`);
  // The first answer comes long after the start.
  await once(child.stdout, "data");
  await until(() => !block().includes(key));
  assert.doesNotMatch(block(), /planted|a=b=c/);
  assert.match(block(), /PAGURUS_CHILD=mark-of-a-host/);
  inputOf(child).end();
  await exited;
});

test("a variable of the block is still seen by the host and its children (finding 6.2)", async (t) => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "pagurus-environment-")));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: root,
    PAGURUS_HOME: join(root, "own"),
    PAGURUS_NO_PROBE: "1",
    OPENAI_API_KEY: "sk-planted",
  };
  const child = spawn(process.execPath, [LAUNCHER, "status", "--json"], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (text += String(data)));
  await once(child, "close");
  assert.match(text, /openai/);
  assert.ok(text.includes(join(root, "own")), text);
});
