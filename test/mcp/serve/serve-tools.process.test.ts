import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { spawn } from "node:child_process";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { ToolCallPart } from "../../../packages/contract/src/message.ts";
import type { ToolOutcome, ToolSet } from "../../../packages/contract/src/harness/tool.ts";
import { serveTools, type ServedTools } from "../../../packages/host/src/mcp/serve/serve-tools.ts";
import type { ServedCall, ServeOptions } from "../../../packages/host/src/mcp/serve/served-call.ts";
import { bridgeScript } from "../../../packages/host/src/mcp/serve/socket.ts";
import { until } from "../../runner/until.ts";

type Run = (call: ToolCallPart, signal: AbortSignal) => Promise<ToolOutcome>;

const echo: Run = async (call) => ({
  content: [{ type: "text", text: `${call.name} ${JSON.stringify(call.arguments)}` }],
  isError: false,
});

function toolSet(names: readonly string[], run: Run = echo): ToolSet {
  return {
    specs: names.map((name) => ({
      name,
      description: `Does ${name}.`,
      parameters: { type: "object", properties: { text: { type: "string" } }, additionalProperties: false },
    })),
    fingerprint: names.join(","),
    call: run,
    permits: async () => undefined,
  };
}

interface Served {
  served: ServedTools;
  client: Client;
  pid: number;
}

async function connected(served: ServedTools, t: TestContext, changed?: () => void): Promise<Served> {
  const transport = new StdioClientTransport({
    ...served.server,
    env: { ...served.server.env, PATH: process.env["PATH"] ?? "" },
    stderr: "ignore",
  });
  const client = new Client({ name: "test", version: "1" }, {});
  if (changed) client.setNotificationHandler("notifications/tools/list_changed", () => changed());
  await client.connect(transport);
  t.after(() => client.close());
  return { served, client, pid: transport.pid ?? 0 };
}

async function serving(t: TestContext, options: ServeOptions, changed?: () => void): Promise<Served> {
  const served = await serveTools(options);
  t.after(() => served.close());
  return await connected(served, t, changed);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a client sees the tools unchanged and calls them with its own call id", async (t) => {
  const calls: ServedCall[] = [];
  const ids: string[] = [];
  const outcomes: string[] = [];
  const tools = toolSet(["read", "write"], async (call, signal) => {
    ids.push(call.id);
    return await echo(call, signal);
  });
  const { client } = await serving(t, {
    tools: () => tools,
    onCall: (call) => {
      calls.push(call);
      return call.name === "write" ? "paired" : undefined;
    },
    onOutcome: (call) => void outcomes.push(call.id),
  });
  const listed = await client.listTools();
  assert.deepEqual(
    listed.tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      parameters: inputSchema,
    })),
    tools.specs,
  );
  const answer = await client.callTool({
    name: "read",
    arguments: { text: "é" },
    _meta: { "claudecode/toolUseId": "toolu_1" },
  });
  assert.deepEqual(answer.content, [{ type: "text", text: 'read {"text":"é"}' }]);
  assert.equal(answer.isError, undefined);
  await client.callTool({ name: "write" });
  await client.callTool({ name: "read" });
  assert.deepEqual(ids.slice(0, 2), ["toolu_1", "paired"]);
  assert.match(ids[2] ?? "", /^mcp_/);
  assert.deepEqual(outcomes, ids);
  assert.equal(calls[0]?.meta["claudecode/toolUseId"], "toolu_1");
  assert.notEqual(calls[0]?.requestId, calls[1]?.requestId);
  assert.deepEqual(calls[0]?.arguments, { text: "é" });
});

test("images and failures reach the client as such, and a throwing callback changes nothing", async (t) => {
  const image = { type: "image" as const, data: "aGk=", mimeType: "image/png" };
  const tools = toolSet(["look"], async () => ({
    content: [{ type: "text", text: "no such thing" }, image],
    isError: true,
    details: { secret: 1 },
  }));
  const { client } = await serving(t, {
    tools: () => tools,
    onCall: () => {
      throw new Error("mirror");
    },
    onOutcome: () => Promise.reject(new Error("mirror")),
  });
  const answer = await client.callTool({ name: "look" });
  assert.deepEqual(answer.content, [{ type: "text", text: "no such thing" }, image]);
  assert.equal(answer.isError, true);
  assert.doesNotMatch(JSON.stringify(answer), /secret/);
});

test("calls run in parallel, and a cancel aborts the one that it names", async (t) => {
  const aborted: string[] = [];
  let open = 0;
  const tools = toolSet(["wait"], async (call, signal) => {
    open += 1;
    await new Promise<void>((resolve) => {
      if (call.arguments["text"] === "go") return void until(() => open === 2).then(resolve);
      return signal.addEventListener("abort", () => resolve());
    });
    if (signal.aborted) aborted.push(String(call.arguments["text"]));
    return await echo(call, signal);
  });
  const { client } = await serving(t, { tools: () => tools });
  const stop = new AbortController();
  const hung = client.callTool({ name: "wait", arguments: { text: "hang" } }, { signal: stop.signal });
  const quick = await client.callTool({ name: "wait", arguments: { text: "go" } });
  assert.deepEqual(quick.content, [{ type: "text", text: 'wait {"text":"go"}' }]);
  assert.deepEqual(aborted, []);
  stop.abort();
  await assert.rejects(hung);
  await until(() => aborted.length === 1);
  assert.deepEqual(aborted, ["hang"]);
});

test("between turns a call gets an error that the model can read", async (t) => {
  let tools: ToolSet | undefined = toolSet(["read"]);
  const { client } = await serving(t, { tools: () => tools });
  await client.listTools();
  tools = undefined;
  const answer = await client.callTool({ name: "read" });
  assert.equal(answer.isError, true);
  assert.match(JSON.stringify(answer.content), /No turn of the host is running/);
  assert.deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    ["read"],
  );
  tools = toolSet(["read"]);
  assert.equal((await client.callTool({ name: "read" })).isError, undefined);
});

test("clients are notified of another catalog, and refresh waits until they have it", async (t) => {
  let tools = toolSet(["read"]);
  const seen: string[][] = [];
  const { client, served } = await serving(t, { tools: () => tools }, () => {
    void client
      .listTools(undefined, { cacheMode: "refresh" })
      .then((list) => seen.push(list.tools.map(({ name }) => name)));
  });
  await client.listTools();
  assert.equal(await served.refresh(), true);
  assert.deepEqual(seen, []);
  tools = toolSet(["read", "write"]);
  assert.equal(await served.refresh(), true);
  await until(() => seen.length > 0);
  assert.deepEqual(seen, [["read", "write"]]);
  client.setNotificationHandler("notifications/tools/list_changed", () => undefined);
  tools = toolSet(["write"]);
  assert.equal(await served.refresh(20), false);
});

test("the host can wait until a client has listed the tools", async (t) => {
  const { client, served } = await serving(t, { tools: () => toolSet(["read"]) });
  assert.equal(await served.listed(20), false);
  const listed = served.listed(60_000);
  await client.listTools();
  assert.equal(await listed, true);
  assert.equal(await served.listed(0), true);
});

test("a client that requests progress gets it while a call runs", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const tools = toolSet(["wait"], async (call, signal) => {
    started.resolve();
    await finish.promise;
    return await echo(call, signal);
  });
  const { client } = await serving(t, { tools: () => tools });
  const progressed: number[] = [];
  const call = client.callTool(
    { name: "wait" },
    { onprogress: ({ progress }) => void progressed.push(progress) },
  );
  await started.promise;
  t.mock.timers.tick(10_000);
  await until(() => progressed.length === 2);
  finish.resolve();
  await call;
  assert.deepEqual(progressed, [1, 2]);
});

test("a bridge ends with its client and with its host, and leaves no files", async (t) => {
  const served = await serveTools({ tools: () => toolSet(["read"]) });
  t.after(() => served.close());
  const first = await connected(served, t);
  const second = await connected(served, t);
  await first.client.listTools();
  await second.client.listTools();
  await first.client.close();
  await until(() => !isAlive(first.pid));
  assert.equal(isAlive(second.pid), true);
  const folder = dirname(served.server.args[0] ?? "");
  assert.equal(existsSync(folder), true);
  await served.close();
  await until(() => !isAlive(second.pid));
  assert.equal(existsSync(folder), false);
});

test("a connection without the token is closed and sees nothing", async (t) => {
  const served = await serveTools({ tools: () => toolSet(["read"]) });
  t.after(() => served.close());
  const socket = connect(join(dirname(served.server.args[0] ?? ""), "socket"));
  let output = "";
  socket.on("data", (chunk) => (output += chunk.toString()));
  socket.write(`${"0".repeat(64)}\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n`);
  await new Promise((resolve) => socket.once("close", resolve));
  assert.equal(output, "");
});

test("the signal ends it like close, and aborts running calls", async (t) => {
  const end = new AbortController();
  let aborted = false;
  const tools = toolSet(["wait"], async (call, signal) => {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    aborted = true;
    return await echo(call, signal);
  });
  const { client, served } = await serving(t, { tools: () => tools, signal: end.signal });
  const call = client.callTool({ name: "wait" });
  const failed = assert.rejects(call);
  await wait(50);
  end.abort();
  await failed;
  await until(() => aborted);
  assert.equal(existsSync(served.server.args[0] ?? ""), false);
});

test("a bridge whose host is gone reports it and fails", async () => {
  const child = spawn(process.execPath, ["-e", bridgeScript("/nonexistent/socket", "token")]);
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const code = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(code, 1);
  assert.match(errors, /^The tools of the host cannot be reached: .*ENOENT/);
});

test("folders of killed hosts in the temporary folder are removed, and those in use stay", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "pagurus-sweep-"));
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = root;
  t.after(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    rmSync(root, { recursive: true });
  });
  const inUse = await serveTools({ tools: () => toolSet(["read"]) });
  t.after(() => inUse.close());
  const old = new Date(Date.now() - 3_600_000);
  const [left, fresh] = ["pagurus-tools-left00", "pagurus-tools-fresh0"].map((name) => join(root, name));
  for (const folder of [left, fresh]) mkdirSync(folder ?? "");
  for (const folder of [left ?? "", dirname(inUse.server.args[0] ?? "")]) utimesSync(folder, old, old);
  const served = await serveTools({ tools: () => toolSet(["read"]) });
  t.after(() => served.close());
  await until(() => !existsSync(left ?? ""));
  assert.equal(existsSync(fresh ?? ""), true);
  assert.equal(existsSync(inUse.server.args[0] ?? ""), true);
});
