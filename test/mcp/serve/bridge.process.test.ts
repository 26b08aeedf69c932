import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import type { ToolSet } from "../../../packages/contract/src/harness/tool.ts";
import { serveTools, type ServedTools } from "../../../packages/host/src/mcp/serve/serve-tools.ts";
import { longTest } from "../../runner/long-tests.ts";
import { until } from "../../runner/until.ts";
import { inputOf } from "../../runner/child-input.ts";

/** Bytes of a message that comes in hundreds of pieces. */
const LARGE = 20_000_000;

/** Answers the length of its argument `text`; when that is a number, after so many ms. */
const tools: ToolSet = {
  specs: [{ name: "length", description: "", parameters: { type: "object", properties: {} } }],
  fingerprint: "length",
  call: async (call, signal) => {
    const text = String(call.arguments["text"]);
    if (/^\d+$/.test(text)) await wait(Number(text), undefined, { signal }).catch(() => undefined);
    return { content: [{ type: "text", text: `${text.length}` }], isError: signal.aborted };
  },
  permits: async () => undefined,
};

async function served(t: TestContext): Promise<ServedTools> {
  const made = await serveTools({ tools: () => tools });
  t.after(() => made.close());
  return made;
}

function inTmpdir(t: TestContext, folder: string): void {
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = folder;
  t.after(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
}

function root(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-bridge-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Harness {
  child: ChildProcess;
  write(text: string): void;
  send(message: object): void;
  /** The answer to a request. */
  answer(id: number): Promise<string>;
}

async function harness(t: TestContext, { server }: ServedTools): Promise<Harness> {
  const child = spawn(server.command, server.args, { stdio: ["pipe", "pipe", "ignore"] });
  t.after(() => child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const write = (text: string): void => void inputOf(child).write(text);
  const send = (message: object): void => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const answer = async (id: number): Promise<string> => {
    const found = (): string | undefined => output.split("\n").find((line) => line.includes(`"id":${id}}`));
    await until(() => found() !== undefined);
    return found() ?? "";
  };
  const clientInfo = { name: "harness", version: "1" };
  send({
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo },
  });
  await answer(0);
  send({ method: "notifications/initialized" });
  return { child, write, send, answer };
}

function call(text: string): object {
  return { method: "tools/call", params: { name: "length", arguments: { text } } };
}

test("a temporary folder whose path is too long for a socket is not used", async (t) => {
  const long = join(root(t), "l".repeat(100));
  mkdirSync(long);
  inTmpdir(t, long);
  const made = await served(t);
  const client = await harness(t, made);
  client.send({ id: 1, ...call("four") });
  assert.match(await client.answer(1), /"text":"4"/);
  assert.equal(statSync(dirname(made.server.args[0] ?? "")).mode & 0o777, 0o700);
  await made.close();
  assert.equal(existsSync(made.server.args[0] ?? ""), false);
});

test("a folder that cannot be written to is reported in a sentence", async (t) => {
  inTmpdir(t, join(root(t), "none"));
  await assert.rejects(serveTools({ tools: () => tools }), {
    code: "runtime_failed",
    message: /^The host's tools could not be offered to the runtime: .*; is the temporary folder writable\?$/,
  });
});

longTest(
  "a message of many megabytes is copied a few times only, in partial lines and next to others",
  async (t) => {
    const client = await harness(t, await served(t));
    const concat = t.mock.method(Buffer, "concat");
    client.send({ id: 1, ...call("x".repeat(LARGE)) });
    const line = `${JSON.stringify({ jsonrpc: "2.0", id: 2, ...call("half") })}\n`;
    client.write(line.slice(0, 20));
    assert.match(await client.answer(1), new RegExp(`"text":"${LARGE}"`));
    const copied = concat.mock.calls.reduce((total, { result }) => total + (result?.length ?? 0), 0);
    // A careless reader copies its whole buffer at each piece: some hundred times the message.
    assert.ok(copied >= LARGE && copied < 5 * LARGE, `${copied} bytes were copied`);
    client.write(line.slice(20));
    assert.match(await client.answer(2), /"text":"4"/);
  },
);

longTest("invalid lines and a line without end do not affect other clients", async (t) => {
  const made = await served(t);
  const [bad, good] = [await harness(t, made), await harness(t, made)];
  bad.write('\n{not json}\n[]\n5\n{"jsonrpc":"2.0"}\n{"jsonrpc":"2.0","id":9,"method":5}\n');
  bad.send({ id: 1, ...call("four") });
  assert.match(await bad.answer(1), /"text":"4"/);
  const ended = new Promise((resolve) => bad.child.once("exit", resolve));
  for (let sent = 0; sent < 70; sent++) bad.write("x".repeat(1024 * 1024));
  await ended;
  good.send({ id: 1, ...call("four") });
  assert.match(await good.answer(1), /"text":"4"/);
});

test("many calls at once are each answered, and a late cancel does no harm", async (t) => {
  const client = await harness(t, await served(t));
  const ids = Array.from({ length: 200 }, (_each, index) => index + 1);
  for (const id of ids) client.send({ id, ...call(id % 2 === 0 ? "20" : "now") });
  assert.match(await client.answer(1), /"text":"3"/);
  client.send({ method: "notifications/cancelled", params: { requestId: 1 } });
  client.send({ method: "notifications/cancelled", params: { requestId: 99_999 } });
  for (const id of ids) assert.match(await client.answer(id), /"text":"[23]"/);
});

test("a harness that is killed in the middle of calls and lines does not affect the others", async (t) => {
  const made = await served(t);
  const [first, second] = [await harness(t, made), await harness(t, made)];
  first.send({ id: 1, ...call("10000") });
  first.write('{"jsonrpc":"2.0","id":2,"met');
  first.child.kill("SIGKILL");
  second.send({ id: 1, ...call("four") });
  assert.match(await second.answer(1), /"text":"4"/);
});

test("a client that sends nothing, a part of the token, or a long word is refused", async (t) => {
  const made = await served(t);
  const path = join(dirname(made.server.args[0] ?? ""), "socket");
  const silent = connect(path);
  t.after(() => silent.destroy());
  for (const input of ["x".repeat(1_000_000), `${"0".repeat(63)}\n\n`]) {
    const socket = connect(path);
    let output = "";
    socket.on("data", (chunk) => (output += chunk.toString()));
    socket.on("error", () => undefined);
    socket.write(input);
    await new Promise((resolve) => socket.once("close", resolve));
    assert.equal(output, "");
  }
  // A client that sends nothing does not delay the close.
  await made.close();
  await new Promise((resolve) => silent.once("close", resolve));
});

test("only the user's own folders in the temporary folder are removed", async (t) => {
  const folder = root(t);
  inTmpdir(t, folder);
  const old = new Date(Date.now() - 3_600_000);
  const made = (name: string, owner?: number): string => {
    const path = join(folder, name);
    mkdirSync(path);
    if (owner !== undefined) chownSync(path, owner, owner);
    utimesSync(path, old, old);
    return path;
  };
  const left = made("pagurus-tools-left00");
  const elsewhere = made("elsewhere");
  const link = join(folder, "pagurus-tools-link00");
  symlinkSync(elsewhere, link);
  // Only root can create one of another user.
  const others = process.getuid?.() === 0 ? [made("pagurus-tools-other0", 12_345)] : [];
  await served(t);
  await until(() => !existsSync(left));
  await wait(50);
  for (const path of [elsewhere, link, ...others]) assert.equal(existsSync(path), true, path);
});
