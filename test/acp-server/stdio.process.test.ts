/** `pagurus acp` as a program: its standard output, and how it ends. */
import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, it } from "node:test";
import { processIsAlive } from "../../packages/core/src/platform/process-group.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { LAUNCHER } from "../runner/program.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { longSuite } from "../runner/long-tests.ts";
import { inputOf } from "../runner/child-input.ts";

interface Message {
  jsonrpc: string;
  id?: number | null;
  method?: string;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

/** Sleep duration, unique to these tests. In a sandbox the command does not know its process id on the host. */
const SLEEP = `300.${process.pid}`;

/** Processes of the host with `mark` in their arguments. */
function livingWith(mark: string): string[] {
  return execFileSync("ps", ["-eo", "stat,args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(mark) && !line.startsWith("Z") && !line.includes("ps -eo"));
}

/** A client that implements the protocol by hand. */
class RawClient {
  readonly child: ChildProcess;
  readonly messages: Message[] = [];
  stderr = "";
  readonly ended: Promise<number | null>;
  #open = "";
  #wake: () => void = () => undefined;

  constructor(setting: Setting) {
    this.child = spawn(process.execPath, [LAUNCHER, "acp"], {
      cwd: setting.workspace,
      env: setting.env,
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (this.#open + text).split("\n");
      this.#open = lines.pop() ?? "";
      // A line that is not a message fails the test here.
      this.messages.push(...lines.map((line) => JSON.parse(line) as Message));
      this.#wake();
    });
    this.ended = new Promise((resolve) => this.child.on("close", (code) => resolve(code)));
  }

  line(text: string): void {
    inputOf(this.child).write(`${text}\n`);
  }

  async until(found: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const message = this.messages.find(found);
      if (message) return message;
      const more = new Promise<void>((resolve) => (this.#wake = resolve));
      const over = this.ended.then(() => Promise.reject(new Error(`ended: ${this.stderr}`)));
      await Promise.race([more, over]);
    }
  }

  ask(id: number, method: string, params: unknown): Promise<Message> {
    this.line(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return this.until((message) => message.id === id && message.method === undefined);
  }
}

longSuite("pagurus acp", () => {
  let server: ModelServer;
  let setting: Setting;
  const clients: RawClient[] = [];
  const start = (where: Setting): RawClient => {
    const client = new RawClient(where);
    clients.push(client);
    return client;
  };

  beforeEach(async () => {
    const command = `sleep ${SLEEP} & echo up > up; wait`;
    const shell = { id: "c1", name: "shell", arguments: { command } };
    const echo = { id: "c2", name: "files__echo", arguments: { text: "crab" } };
    // A command runs alone: later calls wait until it has ended.
    const step = { toolCalls: [echo, shell] };
    server = await startServer({
      protocol: "anthropic-messages",
      script: (_, index) => (index === 0 ? step : { text: "Well slept." }),
    });
    setting = makeSetting(modelConfig("anthropic-messages", server.url));
  });
  afterEach(async () => {
    for (const { child } of clients.splice(0)) child.kill("SIGKILL");
    await server.close();
    setting.remove();
  });

  it("answers invalid input, prints nothing else, and exits at the end of its input with all its turns aborted (finding G2)", async () => {
    const client = start(setting);
    const hello = await client.ask(1, "initialize", { protocolVersion: 1 });
    assert.equal(hello.error, undefined);
    client.line('{"jsonrpc": "2.0", "id": 2, "method"');
    assert.equal((await client.until(({ error }) => error?.code === -32700)).id, null);
    client.line("[]");
    await client.until(({ error }) => error?.code === -32600);
    assert.equal((await client.ask(3, "session/none", {})).error?.code, -32601);
    assert.equal((await client.ask(4, "session/prompt", { sessionId: "x" })).error?.code, -32602);
    client.line(JSON.stringify({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "none" } }));
    const pids = join(setting.root, "server-pids");
    const program = fileURLToPath(new URL("../mcp/client/server.child.ts", import.meta.url));
    const mcpServer = {
      name: "files",
      command: process.execPath,
      args: [program, "good"],
      env: [{ name: "PIDS", value: pids }],
    };
    const made = await client.ask(5, "session/new", { cwd: setting.workspace, mcpServers: [mcpServer] });
    const sessionId = String(made.result?.["sessionId"]);
    const prompt = [{ type: "text", text: "Sleep." }];
    client.ask(6, "session/prompt", { sessionId, prompt }).catch(() => undefined);
    const up = join(setting.workspace, "up");
    while (!existsSync(up)) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.notDeepEqual(livingWith(SLEEP), [], "the command runs");
    await client.until((message) => JSON.stringify(message).includes("echo {"));
    inputOf(client.child).end();
    assert.equal(await client.ended, 0, client.stderr);
    const servers = readFileSync(pids, "utf8").trim().split("\n");
    const left = [...livingWith(SLEEP), ...servers.filter((pid) => processIsAlive(Number(pid)))];
    assert.deepEqual(left, [], "a process that a tool or a server has started is left");
    assert.ok(client.messages.every(({ jsonrpc }) => jsonrpc === "2.0"));
    const again = start(setting);
    await again.ask(1, "initialize", { protocolVersion: 1 });
    await again.ask(2, "session/load", { sessionId, cwd: setting.workspace, mcpServers: [] });
    assert.match(JSON.stringify(again.messages), /"user_message_chunk".*Sleep\./);
    assert.match(JSON.stringify(again.messages), /"tool_call_update".*"failed"/);
    assert.match(JSON.stringify(again.messages), /echo \{\\+"text\\+":\\+"crab/);
    const next = [{ type: "text", text: "Well?" }];
    const { result } = await again.ask(3, "session/prompt", { sessionId, prompt: next });
    assert.equal(result?.["stopReason"], "end_turn");
    assert.match(server.requests[1]?.text ?? "", /Sleep\..*Well\?/);
    again.child.kill("SIGTERM");
    assert.equal(await again.ended, 0, again.stderr);
  });

  it("answers with the reason when its configuration is broken", async () => {
    const broken = makeSetting({ agents: { defaults: { maxSteps: "many" } } });
    try {
      const client = start(broken);
      const { error } = await client.ask(1, "initialize", { protocolVersion: 1 });
      assert.match(error?.message ?? "", /maxSteps/);
      inputOf(client.child).end();
      assert.equal(await client.ended, 2);
    } finally {
      broken.remove();
    }
  });
});
