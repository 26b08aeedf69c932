import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import { processIsAlive } from "../../../packages/core/src/platform/process-group.ts";
import { runCommand } from "../../../scripts/command.ts";
import {
  AppServers,
  type AppServer,
  type AppServersOptions,
} from "../../../packages/runtimes/src/codex/app-server/app-server.ts";
import type {
  ThreadStartResponse,
  TurnStartResponse,
} from "../../../packages/runtimes/src/codex/protocol.ts";
import { CODEX_VERSION } from "../../../packages/runtimes/src/codex/codex-version.ts";
import { codexBinary } from "../codex-binary.ts";
import { until } from "../../runner/until.ts";

const BINARY = codexBinary();
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "pagurus-codex-"));
  folders.push(made);
  return made;
}

function environment(home: string): Record<string, string | undefined> {
  return { PATH: process.env["PATH"], HOME: home, CODEX_HOME: home, OPENAI_API_KEY: "not-a-key" };
}

function servers(t: TestContext, options: Partial<AppServersOptions> = {}): AppServers {
  const made = new AppServers({
    env: environment(folder()),
    command: BINARY,
    clientVersion: "0.0.0",
    ...options,
  });
  t.after(() => made.dispose());
  return made;
}

/** Pids of the processes of a group that have not ended. */
function groupMembers(group: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        const [state, , owner] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        return Number(owner) === group && state !== "Z";
      } catch {
        return false;
      }
    });
}

interface Endpoint {
  url: string;
  /** Resolves when the first request has arrived. */
  asked: Promise<void>;
  close(): void;
}

/** A model's endpoint that answers its first request with `first` and then hangs. */
async function endpoint(first?: (response: ServerResponse) => void): Promise<Endpoint> {
  let asked: () => void = () => undefined;
  let requests = 0;
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => {
      requests += 1;
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (requests === 1) first?.(response);
      asked();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: isAsked,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function startThread(server: AppServer, url = "http://127.0.0.1:9/v1"): Promise<ThreadStartResponse> {
  const provider = { name: "local", base_url: url, wire_api: "responses", request_max_retries: 0 };
  return server.request<ThreadStartResponse>("thread/start", {
    model: "some-model",
    modelProvider: "local",
    cwd: folder(),
    approvalPolicy: "never",
    sandbox: "danger-full-access",
    config: { model_providers: { local: { ...provider, stream_max_retries: 0 } } },
  });
}

function startTurn(server: AppServer, threadId: string): Promise<TurnStartResponse> {
  return server.request<TurnStartResponse>("turn/start", {
    threadId,
    input: [{ type: "text", text: "hello", text_elements: [] }],
  });
}

/** Signals take a moment. */
async function gone(holds: () => boolean): Promise<void> {
  await until(holds, "a process is left");
}

const isFailed = (error: unknown): boolean =>
  error instanceof PagurusError && error.code === "runtime_failed";

test("The child starts once for all callers, initializes and answers thread/start.", async (t) => {
  const warnings: string[] = [];
  const all = servers(t, { warn: (sentence) => warnings.push(sentence) });
  const [first, second] = await Promise.all([all.get(), all.get()]);
  assert.equal(first, second);
  assert.equal(first.version, CODEX_VERSION);
  assert.ok(existsSync(first.codexHome));
  assert.ok(first.isAlive && processIsAlive(first.pid));
  const { thread, modelProvider } = await startThread(first);
  assert.match(thread.id, /^[0-9a-f-]{36}$/);
  assert.equal(modelProvider, "local");
  // Codex itself may warn of its set-up, for example of a missing sandbox program.
  assert.deepEqual(
    warnings.filter((sentence) => sentence !== "Codex warns about its configuration."),
    [],
  );
});

test("What follows the answer to thread/start on the wire reaches the listener.", async (t) => {
  const server = await servers(t).get();
  const { thread } = await startThread(server);
  const methods: string[] = [];
  const closed = new Promise<PagurusError>((resolve) => {
    server.listen(thread.id, {
      notification: (method) => methods.push(method),
      request: () => Promise.reject(new Error("unexpected")),
      closed: resolve,
    });
  });
  const before = methods.length;
  const hanging = await endpoint();
  t.after(() => hanging.close());
  const other = await startThread(server, hanging.url);
  const seen: string[] = [];
  const stop = server.listen(other.thread.id, {
    notification: (method) => seen.push(method),
    request: () => Promise.reject(new Error("unexpected")),
    closed: () => undefined,
  });
  const { turn } = await startTurn(server, other.thread.id);
  await hanging.asked;
  await server.request("turn/interrupt", { threadId: other.thread.id, turnId: turn.id });
  assert.ok(seen.includes("turn/started"), seen.join());
  assert.ok(!methods.slice(before).includes("turn/started"));
  stop();
  process.kill(server.pid, "SIGKILL");
  assert.match((await closed).message, /^Codex ended by SIGKILL/);
});

test("A request that Codex refuses rejects with its code and sentence.", async (t) => {
  const server = await servers(t).get();
  await assert.rejects(server.request("thread/archive", { threadId: "nope" }), {
    name: "RpcError",
    code: -32600,
  });
});

/** Whether every thread of a process is stopped. */
function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((id) =>
    /\) T [^)]*$/.test(readFileSync(`/proc/${pid}/task/${id}/stat`, "utf8")),
  );
}

test("kill -9 of the child rejects open requests at once, and the next caller gets another child.", async (t) => {
  const all = servers(t);
  const hanging = await endpoint();
  t.after(() => hanging.close());
  const first = await all.get();
  const { thread } = await startThread(first, hanging.url);
  await startTurn(first, thread.id);
  await hanging.asked;
  // The launcher that npm installs, and the program that it starts and that would answer.
  process.kill(-first.pid, "SIGSTOP");
  while (!groupMembers(first.pid).every(isStopped)) await pause(1);
  const open = first.request("model/list", {});
  const rejected = assert.rejects(open, isFailed);
  process.kill(first.pid, "SIGKILL");
  await rejected;
  assert.equal(first.isAlive, false);
  await assert.rejects(first.request("model/list", {}), isFailed);
  const second = await all.get();
  assert.notEqual(second.pid, first.pid);
  await second.request("model/list", {});
  assert.deepEqual(groupMembers(first.pid), []);
});

test("Disposing leaves no process of the group.", async (t) => {
  const all = servers(t);
  const server = await all.get();
  await startThread(server);
  assert.ok(groupMembers(server.pid).length > 0);
  await all.dispose();
  assert.deepEqual(groupMembers(server.pid), []);
  await assert.rejects(all.get(), isFailed);
});

test("Disposing during a turn on a hanging endpoint leaves no process and rejects what is open.", async (t) => {
  const all = servers(t);
  const hanging = await endpoint();
  t.after(() => hanging.close());
  const server = await all.get();
  const { thread } = await startThread(server, hanging.url);
  await startTurn(server, thread.id);
  await hanging.asked;
  const ended = new Promise<PagurusError>((resolve) => {
    server.listen(thread.id, {
      notification: () => undefined,
      request: () => Promise.reject(new Error("unexpected")),
      closed: resolve,
    });
  });
  await all.dispose();
  assert.equal((await ended).message, "Codex was ended together with its host.");
  assert.deepEqual(groupMembers(server.pid), []);
});

test("Disposing while the child starts, or twice, ends it as well.", async (t) => {
  const all = servers(t);
  const starting = assert.rejects(all.get(), isFailed);
  await Promise.all([all.dispose(), all.dispose()]);
  await starting;
});

/** Answers with a call of Codex's own shell tool, for a command that prints its pid and ignores SIGTERM. */
function shellCall(mark: string): (response: ServerResponse) => void {
  return (response) => {
    const send = (type: string, fields: object): void => {
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
    };
    const item = {
      type: "function_call",
      id: "fc_1",
      call_id: "call_1",
      name: "exec_command",
      arguments: JSON.stringify({
        cmd: `trap '' HUP TERM; echo $$ > ${mark}; sleep 300; sleep 300`,
        yield_time_ms: 60_000,
      }),
    };
    send("response.created", { response: { id: "r1" } });
    send("response.output_item.done", { output_index: 0, item });
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    send("response.completed", { response: { id: "r1", usage } });
    response.end();
  };
}

async function appears(file: string): Promise<string> {
  const text = (): string => (existsSync(file) ? readFileSync(file, "utf8").trim() : "");
  await until(() => text() !== "", `${file} did not appear`);
  return text();
}

for (const how of ["disposing", "kill -9"] as const) {
  test(`A command that Codex runs is ended after ${how}.`, async (t) => {
    const all = servers(t);
    const mark = join(folder(), "pid");
    const model = await endpoint(shellCall(mark));
    t.after(() => model.close());
    const server = await all.get();
    const { thread } = await startThread(server, model.url);
    await startTurn(server, thread.id);
    const command = Number(await appears(mark));
    assert.ok(processIsAlive(command));
    if (how === "kill -9") process.kill(server.pid, "SIGKILL");
    else await all.dispose();
    await gone(() => !processIsAlive(command) && groupMembers(server.pid).length === 0);
  });
}

test("A missing program is one sentence that says how to install it.", async (t) => {
  const nowhere = folder();
  const all = servers(t, { env: { PATH: nowhere, HOME: nowhere }, command: undefined, from: nowhere });
  const sentence =
    "Codex was found neither on PATH nor as the package @openai/codex; " +
    "install it with `npm install -g @openai/codex`.";
  assert.deepEqual(all.find(), { reason: sentence });
  await assert.rejects(all.get(), { code: "runtime_failed", message: sentence });
});

test("The package next to the host is found where PATH has none, and starts.", async (t) => {
  const home = folder();
  const from = join(BINARY, "../../..");
  const all = servers(t, { env: { ...environment(home), PATH: "/nowhere" }, command: undefined, from });
  const found = all.find();
  assert.ok("command" in found && found.command === process.execPath);
  assert.equal((await all.get()).version, CODEX_VERSION);
});

test("The user's configuration is neither created nor changed.", async (t) => {
  const empty = folder();
  const kept = folder();
  const config = 'model = "their-model"\n\n[features]\nplugins = true\n';
  writeFileSync(join(kept, "config.toml"), config);
  for (const home of [empty, kept]) {
    const all = servers(t, { env: environment(home) });
    const server = await all.get();
    assert.equal(server.codexHome, home);
    await startThread(server);
    await all.dispose();
  }
  assert.equal(existsSync(join(empty, "config.toml")), false);
  assert.equal(readFileSync(join(kept, "config.toml"), "utf8"), config);
});

test("A configuration that Codex refuses is reported with Codex's own message.", async (t) => {
  const home = folder();
  writeFileSync(join(home, "config.toml"), 'approval_policy = "untrusted"\n');
  const all = servers(t, { env: environment(home) });
  await assert.rejects(all.get(), (error: unknown) => {
    assert.ok(error instanceof PagurusError);
    assert.match(error.message, /^Codex did not start .*untrusted/);
    return true;
  });
});

test("The child's arguments contain no secrets of the environment.", async (t) => {
  const server = await servers(t).get();
  const args = readFileSync(`/proc/${server.pid}/cmdline`, "utf8");
  assert.match(args, /app-server/);
  assert.doesNotMatch(args, /not-a-key/);
});

test("The child ends when its host is killed in the middle of a turn.", async (t) => {
  const hanging = await endpoint();
  t.after(() => hanging.close());
  const host = spawn(process.execPath, [join(import.meta.dirname, "host.child.ts"), BINARY, hanging.url], {
    env: environment(folder()),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(host.stdout, "data")) as [Buffer];
  const pid = Number(line.toString());
  await hanging.asked;
  assert.ok(processIsAlive(pid));
  host.kill("SIGKILL");
  await gone(() => !processIsAlive(pid));
});

test("The protocol types and the methods used are those of the pinned program.", async () => {
  const script = join(import.meta.dirname, "../../../scripts/codex-protocol.ts");
  const { code, stdout, stderr } = await runCommand(process.execPath, [script, "--check"], {
    deadlineMs: 60_000,
  });
  assert.equal(code, 0, stdout + stderr);
});
