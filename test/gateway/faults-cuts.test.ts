/** Answers that are cut anywhere, and clients that are slow or disconnect: both sides notice it, and nothing waits forever. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import type { WireAnswer } from "../../packages/gateway/src/dialect/wire-dialect.ts";
import { gzipSync } from "node:zlib";
import {
  askRaw,
  requestBytes,
  RawClient,
  withSetting,
  type RawRequest,
  type Setting,
} from "./passthrough-setting.ts";
import { APIS, atPort, eventsOf, sized, STEP, TURNS } from "./passthrough-traffic.ts";
import { assertFault, streamed, summing } from "./faults-setting.ts";
import { chunk, LAST_CHUNK, STREAM_HEAD } from "./server/support.ts";
import { longTest } from "../runner/long-tests.ts";
import { until, untilWithin } from "../runner/until.ts";
import { turns, untilStays } from "../runner/loop-turns.ts";

/** Events that mark an answer as complete. */
const ENDS =
  /response\.completed|"stop_reason":"|"finish_reason":"(?:stop|tool_calls)"|"finishReason":"STOP"/;

function request(made: Setting): RawRequest {
  return sized(atPort(TURNS[made.api], made.port), made.token);
}

function wordsOf(answer: WireAnswer | undefined): string {
  const content = answer?.message.content ?? [];
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The count after it has stayed the same. */
async function unchanged(count: () => number): Promise<number> {
  await until(() => count() > 0);
  await untilStays(count);
  return count();
}

/** The answer's text in the events so far. */
function textIn(bytes: Buffer): string {
  const text = bytes.toString();
  const deltas = text.matchAll(
    /"(?:response\.output_text\.delta|text_delta)".*?"(?:delta|text)":"((?:[^"\\]|\\.)*)"|"content":"((?:[^"\\]|\\.)+)"|"parts":\[\{"text":"((?:[^"\\]|\\.)*)"\}/g,
  );
  return [...deltas]
    .map(([, first, second, third]) => JSON.parse(`"${first ?? second ?? third ?? ""}"`) as string)
    .join("");
}

for (const api of APIS)
  describe(`a cut answer of ${api}`, () => {
    const events = eventsOf(api);
    const last = events.findIndex((event) => ENDS.test(event.toString()));

    for (const [way, cut] of [
      ["is closed", (socket: Socket) => void socket.end()],
      ["is reset", (socket: Socket) => void turns().then(() => socket.resetAndDestroy())],
    ] as const)
      it(`after any event, with a connection that ${way}, is a cut for both sides`, async () => {
        let many = 0;
        const answer = (socket: Socket): void => {
          socket.write(Buffer.concat([Buffer.from(STREAM_HEAD), ...events.slice(0, many).map(chunk)]));
          cut(socket);
        };
        await withSetting({ api, answer, governor: summing }, async (made) => {
          for (many = 0; many <= events.length; many += 1) {
            const before = Buffer.concat(events.slice(0, many));
            const got = await askRaw(made, request(made));
            assert.equal(got.isWhole, false, `the harness sees the cut after event ${many}`);
            assert.ok(got.body.equals(before), "with all that came before it");
            await until(() => made.seenCalls.length === 2 * (many + 1));
            const seenCalls = made.seenCalls.at(-1);
            assert.deepEqual(
              [seenCalls?.what, seenCalls?.request, seenCalls?.isAborted],
              ["answered", many, false],
            );
            assert.equal(
              seenCalls?.answer?.isComplete,
              many > last,
              `the governor, too, after event ${many}`,
            );
            assert.equal(wordsOf(seenCalls?.answer), textIn(before));
          }
          assert.equal(wordsOf(made.seenCalls.at(-1)?.answer), STEP.text);
          made.log.assertWithout([made.token, "forty", "The ninth"]);
        });
      });

    it("inside an event, or without the events of an end, is incomplete", async () => {
      const whole = Buffer.concat(events.slice(0, last));
      for (let at = 1; at < whole.length; at += 97) {
        const isCut = at % 2 === 0;
        const part = whole.subarray(0, at);
        const bytes = Buffer.concat([
          Buffer.from(STREAM_HEAD),
          chunk(part),
          Buffer.from(isCut ? "" : LAST_CHUNK),
        ]);
        const answer = (socket: Socket): void => {
          socket.write(bytes);
          if (isCut) socket.end();
        };
        await withSetting({ api, answer, governor: summing }, async (made) => {
          const got = await askRaw(made, request(made));
          assert.deepEqual([got.isWhole, got.body.equals(part)], [!isCut, true]);
          await until(() => made.seenCalls.length === 2);
          assert.equal(made.seenCalls[1]?.answer?.isComplete, false);
        });
      }
    });

    it("in compressed form gives its partial content", async () => {
      const zipped = gzipSync(Buffer.concat(events.slice(0, last)));
      const part = zipped.subarray(0, Math.floor(zipped.length * 0.8));
      const answer = (socket: Socket): void => {
        socket.write(STREAM_HEAD.replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n"));
        socket.end(chunk(part));
      };
      await withSetting({ api, answer, governor: summing }, async (made) => {
        const got = await askRaw(made, request(made));
        assert.deepEqual([got.isWhole, got.body.equals(part)], [false, true]);
        await until(() => made.seenCalls.length === 2);
        assert.equal(made.seenCalls[1]?.answer?.isComplete, false);
        const words = wordsOf(made.seenCalls[1]?.answer);
        assert.ok(words.length > 0 && STEP.text?.startsWith(words));
      });
    });

    it("before its head is a fault in the dialect's format, and the governor gets it", async () => {
      for (const before of ["", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Ty", "no http\r\n\r\n"]) {
        await withSetting(
          { api, answer: (socket) => void socket.end(before), governor: summing },
          async (made) => {
            const got = await askRaw(made, request(made));
            assert.equal(got.status, 502);
            assert.match(assertFault(api, got), /did not answer/);
            assert.deepEqual(
              made.seenCalls.map(({ what }) => what),
              ["sent", "answered"],
            );
            assert.equal(made.seenCalls[1]?.answer?.isComplete, false);
            assert.ok(made.seenCalls[1]?.answer?.error);
            made.log.assertWithout([made.token, "sk-harness"]);
          },
        );
      }
    });
  });

describe("a slow client", () => {
  it("that sends its request byte by byte is served", async () => {
    for (const api of APIS)
      await withSetting({ api, answer: streamed(eventsOf(api)), governor: summing }, async (made) => {
        const { body, ...rest } = request(made);
        const client = new RawClient(made.port);
        const head = requestBytes({ ...rest, body: Buffer.alloc(0) });
        for (const byte of head) client.socket.write(Buffer.from([byte]));
        for (let at = 0; at < body.length; at += 211) {
          client.socket.write(body.subarray(at, at + 211));
          await turns(1);
        }
        const got = await client.answer();
        client.end();
        assert.deepEqual([got.status, got.isWhole], [200, true]);
        assert.equal(made.facts[0]?.isReplaced, true);
      });
  });

  it("that disconnects in the middle of its request is dropped, and nothing is sent", async () => {
    for (const api of APIS)
      await withSetting({ api, answer: streamed(eventsOf(api)), governor: summing }, async (made) => {
        const bytes = requestBytes(request(made));
        for (const share of [0.01, 0.3, 0.7, 0.99]) {
          const socket = connect(made.port, "127.0.0.1");
          socket.write(bytes.subarray(0, Math.floor(bytes.length * share)));
          await turns();
          socket.resetAndDestroy();
          await once(socket, "close");
        }
        await turns();
        assert.equal(made.endpoint.asked.length, 0);
        assert.deepEqual(made.seenCalls, []);
        assert.equal((await askRaw(made, request(made))).status, 200, "the next one is served");
      });
  });

  longTest("that reads slowly pauses the model's stream, and gets all of it", async () => {
    const piece = Buffer.alloc(64 * 1_024, "x");
    const total = 512;
    let written = 0;
    let endpointSocket: Socket | undefined;
    const answer = (socket: Socket): void => {
      endpointSocket = socket;
      socket.write(STREAM_HEAD);
      const more = (): void => {
        while (written < total) {
          written += 1;
          if (!socket.write(chunk(piece))) return void socket.once("drain", more);
        }
        socket.write(LAST_CHUNK);
        return undefined;
      };
      more();
    };
    await withSetting({ api: "openai-responses", answer }, async (made) => {
      const socket = connect(made.port, "127.0.0.1");
      socket.write(requestBytes(request(made)));
      await once(socket, "readable");
      const held = await unchanged(() => written);
      assert.ok(held < total / 2, `${held} of ${total} pieces had gone out while the client did not read`);
      assert.ok(endpointSocket);
      const hash = createHash("sha256");
      let bytes = 0;
      let tail = "";
      for await (const part of socket as AsyncIterable<Buffer>) {
        bytes += part.length;
        hash.update(part);
        tail = `${tail}${part.toString("latin1")}`.slice(-5);
        if (tail === LAST_CHUNK) break;
      }
      assert.equal(tail, LAST_CHUNK, `the stream ended after ${bytes} bytes, ${written} pieces written`);
      assert.ok(bytes > total * piece.length, `${bytes} bytes of ${total} pieces`);
      await until(() => made.seenCalls.length === 2);
      assert.equal(made.seenCalls[1]?.isAborted, false);
    });
  });

  it("that disconnects in the middle of the answer ends the model's stream, and the governor has the partial answer", async () => {
    for (const api of APIS) {
      const events = eventsOf(api);
      // Google's calls are one event each, and one ends the answer.
      const before = events.slice(0, api === "google-generative-ai" ? -3 : -4);
      let left = 0;
      const answer = (socket: Socket): void => {
        socket.once("close", () => (left += 1));
        socket.write(Buffer.concat([Buffer.from(STREAM_HEAD), ...before.map(chunk)]));
      };
      await withSetting({ api, answer, governor: summing }, async (made) => {
        const socket = connect(made.port, "127.0.0.1");
        socket.write(requestBytes(request(made)));
        let received = 0;
        socket.on("data", (part: Buffer) => (received += part.length));
        await until(() => received > Buffer.concat(before).length);
        socket.destroy();
        await until(() => left === 1 && made.seenCalls.length === 2);
        assert.equal(made.seenCalls[1]?.isAborted, true);
        assert.equal(made.seenCalls[1]?.answer?.isComplete, false);
        assert.equal(wordsOf(made.seenCalls[1]?.answer), STEP.text);
      });
    }
  });
});

describe("a governor that never returns", () => {
  it("is given up when the harness disconnects, and does not block the next request", async () => {
    for (const api of APIS) {
      let asked = 0;
      const main = (): Promise<undefined> =>
        asked++ === 0 ? new Promise<undefined>(() => undefined) : Promise.resolve(undefined);
      await withSetting({ api, answer: streamed(eventsOf(api)), governor: { main } }, async (made) => {
        const socket = connect(made.port, "127.0.0.1");
        socket.write(requestBytes(request(made)));
        await until(() => asked === 1);
        socket.destroy();
        // It would never be answered if the one that was left were waited for.
        assert.equal((await askRaw(made, request(made))).status, 200);
        await untilWithin(20_000, () => made.facts.length === 2);
        assert.deepEqual(
          made.seenCalls.map(({ what, request: number }) => `${what} ${number}`),
          ["sent 1", "answered 1"],
        );
      });
    }
  });

  it("gets the end of each request that was reported as sent, also if it fails at the second decision", async () => {
    const TOO_LONG = JSON.stringify({
      type: "error",
      error: {
        type: "invalid_request_error",
        code: "context_length_exceeded",
        message: "prompt is too long: maximum context length",
      },
    });
    for (const api of APIS) {
      let looks = 0;
      const main: typeof summing.main = (read, call) => {
        looks += 1;
        return looks === 2 ? Promise.reject(new Error("It broke.")) : summing.main(read, call);
      };
      const answer = (socket: Socket): void =>
        void socket.write(
          `HTTP/1.1 400 X\r\nContent-Type: application/json\r\nContent-Length: ${TOO_LONG.length}\r\n\r\n${TOO_LONG}`,
        );
      await withSetting({ api, answer, governor: { ...summing, main } }, async (made) => {
        const got = await askRaw(made, request(made));
        assertFault(api, got);
        assert.equal(looks, 2);
        await until(() => made.facts.length === 1);
        assert.deepEqual(
          made.seenCalls.map(({ what }) => what),
          ["sent", "answered"],
        );
        assert.equal(made.seenCalls[1]?.answer?.error?.overflow, true);
      });
    }
  });

  it("does not keep the connection of a refusal that is not read to its end", async () => {
    const api = "openai-completions";
    const refusal = `maximum context length ${"x".repeat(2 ** 21)}`;
    const sockets: Socket[] = [];
    const whole = streamed(eventsOf(api));
    const answer = (socket: Socket): void => {
      if (sockets.push(socket) > 1) return whole(socket);
      socket.write("HTTP/1.1 400 X\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n");
      return void socket.write(chunk(refusal));
    };
    await withSetting({ api, answer, governor: summing }, async (made) => {
      assert.equal((await askRaw(made, request(made))).status, 200);
      await until(() => made.facts.length === 1);
      assert.equal(made.endpoint.asked.length, 2);
      await untilWithin(20_000, () => sockets[0]?.destroyed === true);
    });
  });
});
