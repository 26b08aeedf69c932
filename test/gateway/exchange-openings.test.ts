/** A provider that refuses the context inside a stream: the harness only sees the answer to the second request. */
import assert from "node:assert/strict";
import { request as httpRequest, type ServerResponse } from "node:http";
import { afterEach, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { Governor } from "../../packages/gateway/src/governor/governor.ts";
import { Bench, governed, user, type Answer } from "./exchange-bench.ts";
import { RESPONSES, SPEECHES, type Speech } from "./openings.ts";
import { longTest } from "../runner/long-tests.ts";
import { until } from "../runner/until.ts";
import { turns } from "../runner/loop-turns.ts";

function begin(response: ServerResponse, more: Record<string, string> = {}): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", ...more });
}

/** Each event as a chunk of its own. */
const stream =
  (...events: string[]): Answer =>
  async (response) => {
    begin(response);
    for (const event of events) {
      response.write(event);
      await turns();
    }
    response.end();
  };

const smaller: Governor["main"] = async (_request, { overflow }) =>
  governed(user(overflow ? "SHORT" : "A LONG SUMMARY"), user("two"));

describe("the beginning of a stream", () => {
  let bench: Bench;
  afterEach(() => bench.end());

  const ask = (speech: Speech, signal?: AbortSignal): Promise<Response> =>
    bench.ask(speech.body, { path: speech.path, ...(signal ? { signal } : {}) });

  for (const speech of SPEECHES) {
    const { api, begins, tooLong, busy, says, ends } = speech;
    const whole = [...begins, ...says, ...ends];

    it(`has the engine make the context smaller if it ends in the refusal of it: ${api}`, async () => {
      bench = new Bench(api);
      await bench.open({ main: smaller }, stream(...begins, tooLong), stream(...whole));
      const response = await ask(speech);
      assert.equal(response.status, 200);
      assert.equal(await response.text(), whole.join(""));
      assert.equal(bench.seen.length, 2);
      const [first, second] = bench.seen.map(({ body }) => body);
      assert.ok(first && second);
      assert.ok(first.includes("A LONG SUMMARY"));
      assert.ok(second.includes("SHORT") && second.length < first.length);
      await until(() => bench.answers.length === 2);
      assert.deepEqual(
        bench.answers.map(({ error, isComplete }) => [error?.overflow, isComplete]),
        [
          [true, false],
          [undefined, true],
        ],
      );
      assert.deepEqual(bench.calls, ["sent 0", "answered 0", "sent 0", "answered 0"]);
    });

    it(`is retried if the refusal comes at once, and not a second time: ${api}`, async () => {
      bench = new Bench(api);
      const refused = [...begins, tooLong].join("");
      await bench.open({ main: smaller }, stream(refused));
      assert.equal(await (await ask(speech)).text(), refused);
      assert.equal(bench.seen.length, 2);
    });

    it(`passes if it fails for another reason, or after some output: ${api}`, async () => {
      bench = new Bench(api);
      const other = [...begins, busy];
      const late = [...begins, ...says, tooLong];
      await bench.open({ main: smaller }, stream(...other), stream(...late));
      assert.equal(await (await ask(speech)).text(), other.join(""));
      assert.equal(await (await ask(speech)).text(), late.join(""));
      assert.equal(bench.seen.length, 2);
      assert.deepEqual(
        bench.answers.map(({ error }) => error?.overflow),
        [false, true],
      );
    });

    it(`is held back until the first output, and then sent at once: ${api}`, async () => {
      bench = new Bench(api);
      const goOn = Promise.withResolvers<void>();
      const end = Promise.withResolvers<void>();
      await bench.open({ main: smaller }, async (response) => {
        begin(response);
        for (const event of begins) response.write(event);
        await goOn.promise;
        response.write(says[0] ?? "");
        await end.promise;
        response.end([...says.slice(1), ...ends].join(""));
      });
      let isHeld = true;
      const asked = ask(speech).then((response) => {
        isHeld = false;
        return response;
      });
      await until(() => bench.seen.length === 1);
      await turns();
      assert.ok(isHeld, "nothing has come");
      goOn.resolve();
      const reader = (await asked).body?.getReader() ?? assert.fail("no body");
      const decoder = new TextDecoder();
      let text = "";
      const start = [...begins, says[0]].join("");
      while (text.length < start.length) text += decoder.decode((await reader.read()).value);
      assert.equal(text, start);
      end.resolve();
      for (let read = await reader.read(); !read.done; read = await reader.read())
        text += decoder.decode(read.value);
      assert.equal(text, whole.join(""));
    });
  }

  it("is not held back if no engine governs, however the requests pass", async () => {
    for (const governor of [{}, { passes: true as const }]) {
      bench = new Bench("openai-responses");
      const end = Promise.withResolvers<void>();
      await bench.open(governor, async (response) => {
        begin(response);
        response.write(RESPONSES.begins[0] ?? "");
        await end.promise;
        response.end(RESPONSES.tooLong);
      });
      const response = await ask(RESPONSES);
      const reader = response.body?.getReader() ?? assert.fail("no body");
      const first = new TextDecoder().decode((await reader.read()).value);
      assert.equal(first, RESPONSES.begins[0]);
      end.resolve();
      assert.equal(new TextDecoder().decode((await reader.read()).value), RESPONSES.tooLong);
      assert.equal(bench.seen.length, 1);
      if (!("passes" in governor)) await bench.end();
    }
  });

  it("is sent at its byte limit, whatever comes then", async () => {
    bench = new Bench("openai-responses");
    const padding = `: ${"x".repeat(70 * 1024)}\n\n`;
    const late = [padding, ...RESPONSES.begins, RESPONSES.tooLong];
    await bench.open({ main: smaller }, stream(...late));
    assert.equal(await (await ask(RESPONSES)).text(), late.join(""));
    assert.equal(bench.seen.length, 1);
  });

  describe("that takes longer than a few seconds", () => {
    /** Sends the rest once the harness has the head. */
    const slow = (isHere: Promise<void>, first: string, rest: string): Answer => {
      return async (response) => {
        begin(response);
        response.write(first);
        await isHere;
        response.end(rest);
      };
    };
    const late = async (...answers: ((isHere: Promise<void>) => Answer)[]): Promise<string> => {
      bench = new Bench("openai-responses");
      const isHere = Promise.withResolvers<void>();
      await bench.open({ main: smaller }, ...answers.map((answer) => answer(isHere.promise)));
      const response = await ask(RESPONSES);
      assert.equal(response.status, 200);
      isHere.resolve();
      return response.text();
    };
    const whole = [...RESPONSES.begins, ...RESPONSES.says, ...RESPONSES.ends].join("");

    it("keeps the harness waiting with comments, and ends in the answer to a smaller context", async () => {
      const first = RESPONSES.begins[0] ?? "";
      const text = await late(
        (isHere) => slow(isHere, first, RESPONSES.tooLong),
        () => stream(whole),
      );
      assert.match(text, /^(?:: waiting\n\n)+/);
      assert.equal(text.replace(/^(?:: waiting\n\n)+/, ""), whole);
      assert.ok(bench.seen.at(-1)?.body.includes("SHORT"));
    });

    it("passes whole if it continues, byte for byte besides the comments", async () => {
      const [first = "", ...rest] = RESPONSES.begins;
      const text = await late((isHere) => slow(isHere, first, rest.join("") + whole));
      assert.equal(text.replace(/^(?:: waiting\n\n)+/, ""), first + rest.join("") + whole);
    });

    it("ends in the refusal if the smaller context is refused with an error", async () => {
      const first = RESPONSES.begins[0] ?? "";
      const text = await late(
        (isHere) => slow(isHere, first, RESPONSES.tooLong),
        () => (response) => void response.writeHead(500, { "content-type": "application/json" }).end("{}"),
      );
      assert.equal(text.replace(/^(?:: waiting\n\n)+/, ""), first + RESPONSES.tooLong);
    });
  });

  it("has the next request made smaller if the refusal comes after output", async () => {
    bench = new Bench("openai-responses");
    const late = [...RESPONSES.begins, ...RESPONSES.says, RESPONSES.tooLong];
    const whole = [...RESPONSES.begins, ...RESPONSES.says, ...RESPONSES.ends];
    await bench.open({ main: smaller }, stream(...late), stream(...whole), stream(...whole));
    assert.equal(await (await ask(RESPONSES)).text(), late.join(""));
    await until(() => bench.answers.length === 1);
    assert.equal(await (await ask(RESPONSES)).text(), whole.join(""));
    await (await ask(RESPONSES)).text();
    const sizes = bench.seen.map(({ body }) => body.includes("SHORT"));
    assert.deepEqual(sizes, [false, true, false], "and only the next one");
  });

  it("is not held back if it is compressed, or is no stream", async () => {
    bench = new Bench("openai-responses");
    const packed: Answer = (response) => {
      begin(response, { "content-encoding": "gzip" });
      response.end(gzipSync(RESPONSES.begins.join("") + RESPONSES.tooLong));
    };
    const whole: Answer = (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"status":"completed","output":[]}');
    };
    await bench.open({ main: smaller }, packed, whole);
    assert.equal(await (await ask(RESPONSES)).text(), RESPONSES.begins.join("") + RESPONSES.tooLong);
    assert.equal(await (await ask(RESPONSES)).text(), '{"status":"completed","output":[]}');
    assert.equal(bench.seen.length, 2);
  });

  it("stays the same if the stream ends or is cut while it is held back", async () => {
    bench = new Bench("openai-responses");
    const start = RESPONSES.begins.join("");
    const cut: Answer = async (response) => {
      begin(response);
      response.write(start);
      await turns();
      response.socket?.resetAndDestroy();
    };
    await bench.open({ main: smaller }, stream(start), cut);
    assert.equal(await (await ask(RESPONSES)).text(), start);
    const response = await ask(RESPONSES);
    const reader = response.body?.getReader() ?? assert.fail("no body");
    assert.equal(new TextDecoder().decode((await reader.read()).value), start);
    await assert.rejects(reader.read(), "a cut, behind all that came before it");
    await until(() => bench.answers.length === 2);
    assert.deepEqual(
      bench.answers.map(({ isComplete }) => isComplete),
      [false, false],
    );
  });

  it("closes the provider's connection if the harness disconnects while it is held back", async () => {
    bench = new Bench("openai-responses");
    const leave = new AbortController();
    const left = Promise.withResolvers<void>();
    await bench.open({ main: smaller }, (response) => {
      begin(response);
      response.write(RESPONSES.begins[0] ?? "");
      response.on("close", () => left.resolve());
      void turns().then(() => leave.abort());
    });
    await assert.rejects(ask(RESPONSES, leave.signal));
    await left.promise;
    await until(() => bench.calls.length === 2);
    assert.deepEqual(bench.calls, ["sent 0", "answered 0 aborted"]);
    assert.equal(bench.seen.length, 1);
  });

  longTest("keeps a slow reader's backpressure after the held part", async () => {
    bench = new Bench("openai-responses");
    const piece = `data: ${JSON.stringify({ type: "response.output_text.delta", output_index: 0, delta: "x".repeat(60_000) })}\n\n`;
    let written = 0;
    let isFull = false;
    const ended = Promise.withResolvers<void>();
    await bench.open({ main: smaller }, async (response) => {
      begin(response);
      response.write(RESPONSES.begins.join(""));
      for (; written < 1_000; written += 1)
        if (!response.write(piece)) {
          const drained = await Promise.race([
            new Promise((resolve) => response.once("drain", () => resolve(true))),
            turns(5_000),
          ]);
          if (drained !== true) {
            isFull = true;
            await ended.promise;
          }
        }
      response.end();
    });
    const { baseUrl, headers } = bench.address;
    const url = new URL(`${baseUrl}${RESPONSES.path}`);
    const client = httpRequest(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
    });
    client.end(RESPONSES.body);
    const response = await new Promise<import("node:http").IncomingMessage>((resolve) =>
      client.once("response", resolve),
    );
    await until(() => isFull);
    assert.ok(written < 1_000, "the provider was slowed down");
    ended.resolve();
    let bytes = 0;
    for await (const chunk of response) bytes += (chunk as Buffer).length;
    assert.equal(bytes, RESPONSES.begins.join("").length + 1_000 * piece.length);
  });
});
