import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough, Writable } from "node:stream";
import { test } from "node:test";
import { setImmediate as tick } from "node:timers/promises";
import fc from "fast-check";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import { METHOD_NOT_FOUND, RpcError, RpcPeer, type RpcHandlers } from "../../packages/core/src/rpc/peer.ts";
import { runs } from "../runner/short-form.ts";
import { unicodeText } from "../runner/unicode-text.ts";

type Sent = Record<string, unknown>;

/** A peer whose other side is the test: `say` writes to it, `sent` is what it wrote. */
function connect(handlers: Partial<RpcHandlers> = {}, options: { mostLineBytes?: number } = {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const sent: Sent[] = [];
  output.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().split("\n")) if (line !== "") sent.push(JSON.parse(line) as Sent);
  });
  const notes: [string, unknown][] = [];
  const peer = new RpcPeer(
    { input, output },
    {
      notification: (method, params) => notes.push([method, params]),
      request: () => Promise.reject(new RpcError("no such method", METHOD_NOT_FOUND)),
      ...handlers,
    },
    options,
  );
  const say = (message: unknown): boolean => input.write(JSON.stringify(message) + "\n");
  return { peer, input, output, sent, notes, say };
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 5; turns += 1) await tick();
}

const code = (expected: string) => (error: unknown) =>
  error instanceof PagurusError && error.code === expected;

test("A request is sent without a jsonrpc field and gets the answer with its id.", async () => {
  const { peer, sent, say } = connect();
  const first = peer.request("a/b", { x: 1 });
  const second = peer.request("c", undefined);
  await settled();
  assert.deepEqual(sent, [
    { id: 1, method: "a/b", params: { x: 1 } },
    { id: 2, method: "c" },
  ]);
  say({ id: 2, result: "two" });
  say({ jsonrpc: "2.0", id: 1, result: null });
  assert.equal(await second, "two");
  assert.equal(await first, null);
});

test("An error of the other side is an RpcError with its code, sentence and data.", async () => {
  const { peer, say } = connect();
  const answer = peer.request("a", {});
  say({ id: 1, error: { code: -32600, message: "input must not be empty", data: { why: "empty" } } });
  await assert.rejects(answer, (error: unknown) => {
    assert.ok(error instanceof RpcError);
    assert.equal(error.code, -32600);
    assert.equal(error.message, "input must not be empty");
    assert.deepEqual(error.data, { why: "empty" });
    return true;
  });
});

test("An error response without the usual fields is still an RpcError.", async () => {
  const { peer, say } = connect();
  const answers = [peer.request("a", {}), peer.request("b", {})];
  say({ id: 1, error: null });
  say({ id: 2, error: "bad" });
  for (const answer of answers) await assert.rejects(answer, RpcError);
});

test("A request of the other side is answered, also when its handler throws, also with a string as id.", async () => {
  const { sent, say } = connect({
    async request(method, params) {
      if (method === "echo") return params;
      if (method === "nothing") return undefined;
      if (method === "broken") throw new TypeError("broken inside");
      throw new RpcError("unknown method", METHOD_NOT_FOUND, { method });
    },
  });
  say({ id: "s-1", method: "echo", params: [1] });
  say({ id: 0, method: "nothing" });
  say({ id: 3, method: "broken" });
  say({ id: 4, method: "else" });
  await settled();
  assert.deepEqual(sent, [
    { id: "s-1", result: [1] },
    { id: 0, result: {} },
    { id: 3, error: { code: -32603, message: "broken inside" } },
    { id: 4, error: { code: -32601, message: "unknown method", data: { method: "else" } } },
  ]);
});

test("Lines that are not JSON objects are counted and skipped.", async () => {
  const { peer, input, notes, say } = connect();
  input.write('{"method":"torn","par\n[1]\nnull\n"text"\n\n\r\n');
  say({ method: "whole", params: {} });
  await settled();
  assert.deepEqual(notes, [["whole", {}]]);
  assert.equal(peer.skippedLines, 4);
});

test("An unfinished last line is counted, and the end of the input rejects open requests.", async () => {
  const { peer, input, say } = connect();
  const open = peer.request("a", {});
  const late = assert.rejects(open, code("runtime_failed"));
  say({ method: "note" });
  input.end('{"id":1,"resul');
  await late;
  assert.equal(peer.skippedLines, 1);
  await assert.rejects(peer.request("b", {}), code("runtime_failed"));
  assert.equal((await peer.closed).code, "runtime_failed");
});

test("Lines before the end of the input are handled before the end.", async () => {
  const { peer, input, say } = connect();
  const answers = [peer.request("a", {}), peer.request("b", {}), peer.request("c", {})];
  const outcome = Promise.allSettled(answers);
  say({ id: 1, result: 1 });
  say({ id: 2, result: 2 });
  input.end();
  assert.deepEqual(
    (await outcome).map((each) => each.status),
    ["fulfilled", "fulfilled", "rejected"],
  );
});

test("The owner of the streams provides the reason why the input ended.", async () => {
  const reason = new PagurusError("runtime_failed", "The program ended with code 3.");
  const { peer, input } = connect({ ended: () => Promise.resolve(reason) });
  const open = assert.rejects(peer.request("a", {}), (error) => error === reason);
  input.end();
  await open;
});

test("A line over the limit ends the connection with a sentence about the limit.", async () => {
  const { peer, input } = connect({}, { mostLineBytes: 100 });
  const open = assert.rejects(peer.request("a", {}), /a line of more than 100 bytes/);
  for (let part = 0; part < 11; part += 1) input.write("x".repeat(10));
  await open;
  assert.match((await peer.closed).message, /more than 100 bytes/);
});

test("An abort and a deadline reject at once, and a late answer to them is ignored.", async () => {
  const { peer, say } = connect();
  const controller = new AbortController();
  const aborted = peer.request("slow", {}, { signal: controller.signal });
  controller.abort();
  await assert.rejects(aborted, code("turn_aborted"));
  await assert.rejects(peer.request("slow", {}, { deadlineMs: 5 }), /`slow` was not answered within 5 ms/);
  await assert.rejects(peer.request("never sent", {}, { signal: controller.signal }), code("turn_aborted"));
  say({ id: 1, result: 1 });
  say({ id: 2, result: 2 });
  const third = peer.request("quick", {});
  say({ id: 3, result: 3 });
  assert.equal(await third, 3);
});

test("The caller of a request continues before the lines after its answer are handled.", async () => {
  const order: string[] = [];
  const { peer, input } = connect({ notification: (method) => order.push(method) });
  const asked = peer
    .request("thread/start", {})
    .then((result) => result)
    .then(() => order.push("answered"));
  input.write('{"method":"before"}\n{"id":1,"result":{}}\n{"method":"after"}\n');
  await asked;
  await settled();
  assert.deepEqual(order, ["before", "answered", "after"]);
});

test("A listener that throws is reported and does not end the connection.", async () => {
  const problems: unknown[] = [];
  const { peer, say } = connect({
    notification() {
      throw new Error("defect");
    },
    problem: (error) => problems.push(error),
  });
  const answer = peer.request("a", {});
  say({ method: "note" });
  say({ id: 1, result: 1 });
  assert.equal(await answer, 1);
  assert.equal(problems.length, 1);
});

test("While the other side does not read, lines wait, and those of aborted requests are never sent.", async () => {
  const written: string[] = [];
  let release: (() => void) | undefined;
  const output = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      written.push((JSON.parse(chunk.toString()) as { method: string }).method);
      release = done;
    },
  });
  const peer = new RpcPeer(
    { input: new PassThrough(), output },
    { notification: () => undefined, request: () => Promise.resolve({}) },
  );
  const controller = new AbortController();
  void peer.request("first", {}).catch(() => undefined);
  const dropped = peer.request("dropped", {}, { signal: controller.signal });
  peer.notify("last");
  controller.abort();
  await assert.rejects(dropped, code("turn_aborted"));
  assert.deepEqual(written, ["first"]);
  const drained = once(output, "drain");
  release?.();
  await drained;
  assert.deepEqual(written, ["first", "last"]);
  peer.close(new Error("done"));
});

test("A broken output ends the connection.", async () => {
  const { peer, output } = connect();
  const open = assert.rejects(peer.request("a", {}), code("runtime_failed"));
  output.destroy(new Error("EPIPE"));
  await open;
  peer.notify("into the void");
});

test("A broken output is reported with the reason from the owner of the streams.", async () => {
  const { peer, output } = connect({
    ended: () => Promise.resolve(new PagurusError("runtime_failed", "It was killed.")),
  });
  const open = assert.rejects(peer.request("a", {}), /It was killed\.$/);
  output.destroy(new Error("EPIPE"));
  await open;
  assert.match((await peer.closed).message, /It was killed/);
});

test("However the bytes are split, the same messages arrive in order.", async () => {
  const message = fc.record({ method: unicodeText({ minLength: 1 }), params: fc.jsonValue() });
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { maxLength: 12 }),
      fc.array(fc.nat({ max: 200 }), { minLength: 1, maxLength: 40 }),
      fc.constantFrom("\n", "\r\n", "\n\n"),
      async (messages, cuts, end) => {
        const { input, notes, peer } = connect();
        const bytes = Buffer.from(messages.map((each) => JSON.stringify(each) + end).join(""));
        for (let from = 0, cut = 0; from < bytes.length; cut += 1) {
          const to = from + 1 + (cuts[cut % cuts.length] ?? 0);
          input.write(bytes.subarray(from, to));
          from = to;
        }
        input.end();
        await peer.closed;
        assert.deepEqual(
          notes,
          messages.map((each) => {
            const { method, params } = JSON.parse(JSON.stringify(each)) as {
              method: string;
              params: unknown;
            };
            return [method, params];
          }),
        );
        assert.equal(peer.skippedLines, 0);
      },
    ),
    { numRuns: runs(150) },
  );
});

test("Answers in any order, in any chunks, reach the request they belong to.", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([1, 2, 3, 4, 5, 6, 7, 8], { minLength: 8, maxLength: 8 }),
      fc.integer({ min: 1, max: 60 }),
      async (order, size) => {
        const { peer, input } = connect();
        const answers = order.map(() => peer.request("a", {}));
        const text = order.map((id) => JSON.stringify({ id, result: `r${id}` }) + "\n").join("");
        for (let from = 0; from < text.length; from += size) input.write(text.slice(from, from + size));
        assert.deepEqual(await Promise.all(answers), ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"]);
      },
    ),
    { numRuns: 50 },
  );
});
