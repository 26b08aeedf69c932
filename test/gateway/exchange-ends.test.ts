/** How a request through the gateway ends if a side disconnects, fails, hangs or compresses. */
import assert from "node:assert/strict";
import { PassThrough, Readable } from "node:stream";
import { afterEach, describe, it } from "node:test";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { readWhole } from "../../packages/gateway/src/request/refusal.ts";
import type { UpstreamAnswer } from "../../packages/gateway/src/upstream/upstream.ts";
import { Bench, BODY, DONE, governed, TOO_LONG, user, wordsOf, type Answer } from "./exchange-bench.ts";
import { until } from "../runner/until.ts";
import { turns } from "../runner/loop-turns.ts";

const CODINGS = { gzip: gzipSync, br: brotliCompressSync, zstd: zstdCompressSync };

function encoded(status: number, type: string, coding: keyof typeof CODINGS, text: string): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": type, "content-encoding": coding });
    response.end(CODINGS[coding](Buffer.from(text)));
  };
}

describe("the end of a request", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  it("sends nothing for a harness that disconnected while the engine was asked", async () => {
    bench = new Bench();
    const leave = new AbortController();
    const assembled = Promise.withResolvers<void>();
    await bench.open({
      main: async (_request, { signal }) => {
        leave.abort();
        await until(() => signal.aborted);
        assembled.resolve();
        return governed(user("SUMMARY"), user("two"));
      },
    });
    await assert.rejects(bench.ask(BODY, { signal: leave.signal }));
    await assembled.promise;
    await until(() => bench.facts.length === 1);
    assert.deepEqual(bench.calls, []);
    assert.equal(bench.seen.length, 0);
  });

  it("does not decide on a request whose harness disconnected while it waited for the one before it", async () => {
    bench = new Bench();
    const asked: number[] = [];
    const first = Promise.withResolvers<undefined>();
    await bench.open({
      main: (_request, { request }) => {
        asked.push(request);
        return request === 0 ? first.promise : Promise.resolve(undefined);
      },
    });
    const one = bench.ask(BODY);
    await until(() => asked.length === 1);
    const leave = new AbortController();
    const two = bench.ask(BODY, { signal: leave.signal });
    await turns();
    leave.abort();
    await assert.rejects(two);
    await until(() => bench.facts.length === 1);
    const three = bench.ask(BODY);
    first.resolve(undefined);
    await (await one).text();
    await (await three).text();
    assert.deepEqual(asked, [0, 2]);
  });

  it("gives the harness its answer even if recording it fails", async () => {
    bench = new Bench();
    await bench.open({ answered: () => Promise.reject(new Error("the disk is full")) });
    for (let turn = 0; turn < 2; turn++) {
      const response = await bench.ask(BODY);
      assert.equal(response.status, 200);
      assert.match(await response.text(), /\[DONE\]/);
    }
    await bench.end();

    bench = new Bench();
    const reset: Answer = (response) => void response.socket?.resetAndDestroy();
    await bench.open({ answered: () => Promise.reject(new Error("the disk is full")) }, reset);
    const response = await bench.ask(BODY);
    assert.equal(response.status, 502, "the failure is the provider's, not the record's");
  });

  it("is reported to the governor for each request that was sent, also for a refused one", async () => {
    bench = new Bench();
    await bench.open({ main: async () => governed(user("SUMMARY"), user("two")) }, TOO_LONG, DONE);
    await (await bench.ask(BODY)).text();
    await until(() => bench.calls.length === 4);
    assert.deepEqual(bench.calls, ["sent 0", "answered 0", "sent 0", "answered 0"]);
    assert.deepEqual(
      bench.answers.map(({ error, isComplete }) => [error?.overflow, isComplete]),
      [
        [true, false],
        [undefined, true],
      ],
    );
  });

  it("closes a refusal without an end when the engine has made the context smaller", async () => {
    bench = new Bench();
    const closed = Promise.withResolvers<void>();
    const endless: Answer = (response) => {
      response.on("close", () => closed.resolve());
      response.writeHead(400, { "content-type": "application/json" });
      const message = "This model's maximum context length is 100 tokens.";
      response.write(JSON.stringify({ error: { message, code: "context_length_exceeded" } }));
      response.write(" ".repeat(2 * 1024 * 1024));
    };
    await bench.open(
      { main: async (_request, { overflow }) => governed(user(overflow ? "SHORT" : "SUMMARY"), user("two")) },
      endless,
      DONE,
    );
    const response = await bench.ask(BODY);
    assert.equal(response.status, 200);
    await response.text();
    await closed.promise;
    assert.deepEqual(bench.seen.map(wordsOf).at(-1), ["rules", "SHORT", "two"]);
  });

  for (const coding of Object.keys(CODINGS) as (keyof typeof CODINGS)[])
    it(`reads answers and refusals that are encoded as ${coding}, and passes them unchanged`, async () => {
      bench = new Bench();
      const refusal = JSON.stringify({
        error: { message: "maximum context length", code: "context_length_exceeded" },
      });
      const answer =
        'data: {"choices":[{"index":0,"delta":{"content":"Free."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
      await bench.open(
        { main: async () => governed(user("SUMMARY"), user("two")) },
        encoded(400, "application/json", coding, refusal),
        encoded(200, "text/event-stream", coding, answer),
      );
      const response = await bench.ask(BODY);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-encoding"), coding);
      await response.arrayBuffer();
      await until(() => bench.answers.length === 2);
      assert.deepEqual(bench.answers[1]?.message.content, [{ type: "text", text: "Free." }]);
    });

  it("records all answers before its route is closed", async () => {
    bench = new Bench();
    let isRecorded = false;
    await bench.open({
      answered: async () => {
        await turns();
        isRecorded = true;
      },
    });
    await (await bench.ask(BODY)).text();
    await bench.end();
    assert.ok(isRecorded);
  });
});

function refused(stream: Readable): UpstreamAnswer {
  return { status: 400, rawHeaders: [], headers: {}, stream };
}

async function textOf(stream: Readable): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

describe("reading a refusal", () => {
  it("reads it completely and passes all of it on", async () => {
    const { answer, body } = await readWhole(refused(Readable.from([Buffer.from("ab"), Buffer.from("cd")])), {
      bytes: 100,
      ms: 1_000,
    });
    assert.equal(body.toString(), "abcd");
    assert.equal(await textOf(answer.stream), "abcd");
  });

  it("stops at its limits of bytes and of time, and passes what follows", async () => {
    const long = await readWhole(refused(Readable.from([Buffer.from("abcd"), Buffer.from("ef")])), {
      bytes: 3,
      ms: 1_000,
    });
    assert.equal(long.body.toString(), "abcd");
    assert.equal(await textOf(long.answer.stream), "abcdef");
    const slow = new PassThrough();
    slow.write("ab");
    const late = await readWhole(refused(slow), { bytes: 100, ms: 20 });
    assert.equal(late.body.toString(), "ab");
    slow.end("cd");
    assert.equal(await textOf(late.answer.stream), "abcd");
  });

  it("keeps a cut a cut, and closes the provider's connection with the reader of the rest", async () => {
    const cut = new PassThrough();
    cut.write("ab");
    void turns().then(() => cut.destroy(new Error("cut")));
    const { answer } = await readWhole(refused(cut), { bytes: 100, ms: 1_000 });
    await assert.rejects(textOf(answer.stream));
    const endless = new PassThrough();
    endless.write("ab");
    const left = await readWhole(refused(endless), { bytes: 1, ms: 1_000 });
    left.answer.stream.on("error", () => undefined).destroy();
    await until(() => endless.destroyed);
  });
});
