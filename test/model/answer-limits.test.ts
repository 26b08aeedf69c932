/** Tests of one answer's limits: its bytes, those of an event, and the time without content. */
import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { createGzip } from "node:zlib";
import { toPagurusError, type PagurusError } from "../../packages/contract/src/errors.ts";
import { AnswerBytes } from "../../packages/core/src/model/answer-bytes.ts";
import { DEFAULT_ANSWER_LIMITS } from "../../packages/core/src/model/answer-limits.ts";
import type { AnswerLimits } from "../../packages/core/src/model/provider-types.ts";
import { API, collect, modelAt, PROTOCOLS } from "./calling.ts";
import { firstOf } from "../runner/long-tests.ts";

const BYTES = 300_000;
const EVENT_BYTES = 100_000;
const ZEROS = Buffer.alloc(1024 * 1024, 0x20);

/** Calls a server that answers each request with `answer`; returns the error, and the number of requests. */
async function failing(
  protocol: (typeof PROTOCOLS)[number],
  answer: (response: ServerResponse) => void,
  limits: Partial<AnswerLimits>,
): Promise<{ error: PagurusError; asked: number; left: number }> {
  let asked = 0;
  let left = 0;
  const server = createServer((request, response) => {
    asked += 1;
    request.resume();
    response.on("close", () => (left += 1));
    response.on("error", () => undefined);
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const call = collect(modelAt(url, protocol), { limits, retry: { baseMs: 1, maxElapsedMs: 600_000 } });
    const error = await call.then(
      () => assert.fail("the answer was taken"),
      (thrown: unknown) => toPagurusError(thrown),
    );
    return { error, asked, left };
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** Writes chunks as fast as the client reads them, until it disconnects. */
function pour(response: ServerResponse, piece: string | Buffer, to: NodeJS.WritableStream = response): void {
  const write = (): void => {
    while (!response.destroyed) if (!to.write(piece)) return void to.once("drain", write);
  };
  write();
}

const STREAM = { "content-type": "text/event-stream" };
const DELTAS = {
  "openai-responses": `data: ${JSON.stringify({ type: "response.output_text.delta", item_id: "m", output_index: 0, delta: "word " })}\n\n`,
  "openai-completions": `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content: "word " } }] })}\n\n`,
  "anthropic-messages": `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "word " } })}\n\n`,
  google: `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: "word " }] } }] })}\n\n`,
};
const COMMENT = ": keep-alive\n\n";

describe("an answer of a model", () => {
  for (const protocol of firstOf(PROTOCOLS, 2)) {
    it(`${API[protocol]}: endless text ends at the limit of bytes, and is not retried (finding F12)`, async () => {
      const { error, asked } = await failing(
        protocol,
        (response) => pour(response.writeHead(200, STREAM), DELTAS[protocol].repeat(50)),
        { bytes: BYTES },
      );
      assert.equal(error.code, "model_bad_response");
      assert.match(
        error.message,
        /the answer has more than 300000 bytes \(agents\.defaults\.answerLimits\.bytes\)/,
      );
      assert.equal(asked, 1);
    });

    it(`${API[protocol]}: an endless line ends at the limit of an event (finding F12)`, async () => {
      const { error } = await failing(
        protocol,
        (response) => {
          response.writeHead(200, STREAM).write("data: ");
          pour(response, "x".repeat(10_000));
        },
        { eventBytes: EVENT_BYTES },
      );
      assert.equal(error.code, "model_bad_response");
      assert.match(error.message, /an event of the answer has more than 100000 bytes/);
    });

    it(`${API[protocol]}: keep-alive comments do not hold an answer without content (finding F12)`, async () => {
      const { error, asked } = await failing(
        protocol,
        (response) => {
          response.writeHead(200, STREAM).write(COMMENT);
          const timer = setInterval(() => response.write(COMMENT), 5);
          response.on("close", () => clearInterval(timer));
        },
        { idleMs: 200 },
      );
      assert.equal(error.code, "model_stream_cut");
      assert.match(error.message, /nothing but keep-alive came/);
      assert.equal(asked, 2, "once more, then the call has failed");
    });
  }

  it("bytes are counted after decompression, so a gzip bomb ends at the limit (finding F12)", async () => {
    const { error } = await failing(
      "openai-completions",
      (response) => {
        response.writeHead(200, { ...STREAM, "content-encoding": "gzip" });
        const gzip = createGzip();
        gzip.pipe(response);
        response.on("close", () => gzip.destroy());
        pour(response, ZEROS, gzip);
      },
      { bytes: 8 * ZEROS.length, eventBytes: 4 * ZEROS.length },
    );
    assert.equal(error.code, "model_bad_response");
    assert.match(error.message, /has more than \d+ bytes/);
  });

  it("an error's endless body ends at the limit too (finding F12)", async () => {
    const { error } = await failing(
      "openai-completions",
      (response) => pour(response.writeHead(400, { "content-type": "application/json" }), ZEROS),
      { bytes: BYTES },
    );
    assert.equal(error.code, "model_bad_response");
  });

  it("events of any size under the limit and any cut into chunks are taken, with all newlines (finding F12)", () => {
    for (const newline of ["\n", "\r\n"]) {
      const event = `data: ${"x".repeat(900)}${newline}${newline}`;
      const all = Buffer.from(event.repeat(40));
      for (const size of [1, 2, 7, 907, 4_096, all.length]) {
        const bytes = new AnswerBytes({ ...DEFAULT_ANSWER_LIMITS, eventBytes: 1_000 });
        for (let at = 0; at < all.length; at += size) bytes.take(all.subarray(at, at + size));
      }
    }
    const lines = new AnswerBytes({ ...DEFAULT_ANSWER_LIMITS, eventBytes: 1_000 });
    assert.throws(() => lines.take(Buffer.from("data: x\n".repeat(200))), /an event of the answer/);
  });
});
