/** Traffic that the gateway does not handle passes unchanged, byte for byte and in both directions. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { errorBody } from "../servers/errors.ts";
import { google } from "../../packages/testkit/src/endpoint/google.ts";
import { Captures } from "./capture/setting.ts";
import {
  askRaw,
  kept,
  plainAnswer,
  RawClient,
  setting,
  distinctive,
  withSetting,
  type RawAnswer,
  type RawRequest,
  type Setting,
} from "./passthrough-setting.ts";
import { chunk, LAST_CHUNK } from "./server/support.ts";
import {
  APIS,
  atPort,
  cutAt,
  cuts,
  ENCODINGS,
  eventsOf,
  frameBytes,
  RECORDED,
  sized,
  STEP,
  TURNS,
} from "./passthrough-traffic.ts";
import { runs, byLength } from "../runner/short-form.ts";
import { until } from "../runner/until.ts";

const OK = plainAnswer(200, ["Content-Type", "application/json"], Buffer.from("{}"));

/** Asserts that the endpoint's last request is what was sent. */
function assertArrived({ endpoint }: Setting, sent: RawRequest): void {
  const asked = endpoint.asked.at(-1);
  assert.ok(asked);
  const path = sent.path.replace(/^\/t\/[^/]*/, "");
  assert.equal(asked.line, `${sent.method ?? "POST"} ${path} HTTP/1.1`);
  assert.deepEqual(kept(asked.headers), kept(sent.headers));
  assert.ok(asked.body.equals(sent.body), "the body is the same to the byte");
}

for (const api of APIS)
  test(`recorded requests of ${api} arrive at the model unchanged`, async (t) => {
    const all = RECORDED.filter((each) => each.api === api);
    const requests: readonly RawRequest[] = all.length > 0 ? all : [TURNS[api]];
    const captures = new Captures();
    t.after(() => captures.remove());
    for (const capture of [undefined, captures.log])
      await withSetting(
        { api, answer: (socket) => socket.write(OK), ...(capture ? { capture } : {}) },
        async (made) => {
          const client = new RawClient(made.port);
          for (const request of requests) {
            const sent = sized(atPort(request, made.port), made.token);
            const answer = await client.ask(sent);
            assert.equal(answer.status, 200);
            assertArrived(made, sent);
          }
          client.end();
          assert.equal(made.endpoint.asked.length, requests.length);
          const mains = made.facts.filter(({ kind }) => kind === "main").length;
          assert.ok(mains > 0, "some of them are turns of the conversation");
          await until(() => made.seenCalls.length === 2 * mains);
          const words = requests.flatMap(({ headers }) =>
            distinctive(headers.filter((_, at) => at % 2 === 1)),
          );
          made.log.assertWithout([made.token, "You are a coding agent", ...words]);
        },
      );
    t.diagnostic(`${requests.length} requests, with a capture and without`);
  });

const NAME = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,20}$/).map((name) => `X-${name}`);
const VALUE = fc.stringMatching(/^[!-~\u00a1-\u00ff](?:[ -~\u00a1-\u00ff]{0,60}[!-~\u00a1-\u00ff])?$/);
const HEADERS = fc.array(fc.tuple(NAME, VALUE), { maxLength: 8 }).map((pairs) => pairs.flat());
const PATHS = fc.constantFrom(
  "/v1/chat/completions",
  "/v1/chat/completions?a=1&a=2&b=%2F%20+",
  "/v1/models/gemini-3-pro:streamGenerateContent?alt=sse&key=none",
  "/v1/models/gemini-3-pro:countTokens",
  "/v1/responses/resp_1/input_items?after=%C3%A9",
  "/v1/embeddings",
  "/v1/files//a/../b/./c?",
  "/v1/messages/batches",
);

const LONE = String.raw`"\ud83d"`;
/** JSON of any kind as programs write it, with optional spaces, and text that only looks like it. */
const BODIES = fc.oneof(
  fc
    .tuple(fc.jsonValue(), fc.constantFrom(undefined, 2, "\t"))
    .map(([value, space]) => JSON.stringify(value, null, space)),
  fc
    .record({ contents: fc.array(fc.jsonValue(), { maxLength: 4 }), generationConfig: fc.jsonValue() })
    .map((v) => JSON.stringify(v)),
  fc
    .array(fc.tuple(fc.constantFrom("user", "assistant", "tool", "oracle"), fc.jsonValue()), { maxLength: 5 })
    .map(
      (all) =>
        ` {"model" : "m",\r\n"messages": [${all.map(([role, content]) => JSON.stringify({ role, content })).join(" , ")}], "x":${LONE}}\n`,
    ),
  fc.constantFrom("", "no json", "\ufeff{}", `{"a":1e999,"a":-0}`),
);

const STATUSES = fc.constantFrom(
  200,
  201,
  206,
  301,
  400,
  401,
  403,
  404,
  409,
  413,
  418,
  429,
  500,
  502,
  503,
  504,
  529,
);

/** How the endpoint answers the next request. */
interface Script {
  status: number;
  headers: readonly string[];
  parts: readonly Buffer[];
  isChunked: boolean;
}

function answerBy(script: () => Script) {
  return (socket: Socket): void => {
    const { status, headers, parts, isChunked } = script();
    if (!isChunked) return void socket.write(plainAnswer(status, headers, Buffer.concat(parts)));
    const lines: string[] = [];
    for (let at = 0; at + 1 < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}\r\n`);
    socket.write(
      Buffer.from(`HTTP/1.1 ${status} X\r\n${lines.join("")}Transfer-Encoding: chunked\r\n\r\n`, "latin1"),
    );
    for (const part of parts) socket.write(chunk(part));
    socket.write(LAST_CHUNK);
    return undefined;
  };
}

function assertCame(answer: RawAnswer, { status, headers, parts, isChunked }: Script): void {
  const body = Buffer.concat(parts);
  assert.equal(answer.status, status);
  const length = isChunked ? [] : ["Content-Length", String(body.length)];
  assert.deepEqual(kept(answer.headers), [...headers, ...length]);
  assert.ok(answer.body.equals(body), "the answer is the same to the byte");
  assert.equal(answer.isWhole, true);
}

test("any traffic passes each dialect unchanged, and so does any answer", async () => {
  let script: Script = { status: 200, headers: [], parts: [], isChunked: false };
  const all = await Promise.all(APIS.map((api) => setting({ api, answer: answerBy(() => script) })));
  const clients = all.map(({ port }) => new RawClient(port));
  let asked = 0;
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(APIS.length - 1),
        fc.record({
          method: fc.constantFrom("POST", "POST", "GET", "PUT", "PATCH", "DELETE"),
          path: PATHS,
          headers: HEADERS,
          body: BODIES,
        }),
        fc.record({
          status: STATUSES,
          headers: HEADERS,
          body: fc.uint8Array({ maxLength: 20_000 }),
          isChunked: fc.boolean(),
          cuts,
        }),
        async (at, request, answer) => {
          const made = all[at];
          const client = clients[at];
          assert.ok(made && client);
          const parts = cutAt(Buffer.from(answer.body), answer.cuts);
          script = { ...answer, parts };
          const sent = sized(atPort({ ...request, body: Buffer.from(request.body) }, made.port), made.token);
          assertCame(await client.ask(sent), script);
          assertArrived(made, sent);
          asked += 1;
        },
      ),
      { numRuns: runs(250) },
    );
  } finally {
    for (const client of clients) client.end();
    for (const made of all) await made.close();
  }
  for (const made of all) made.log.assertWithout([made.token]);
  assert.equal(
    all.reduce((sum, { endpoint }) => sum + endpoint.asked.length, 0),
    asked,
    "each is sent on once",
  );
});

test("streams of each dialect come back in any encoding and any chunks, and are parsed on the way", async () => {
  for (const api of APIS) {
    let script: Script = { status: 200, headers: [], parts: [], isChunked: true };
    await withSetting({ api, answer: answerBy(() => script) }, async (made) => {
      const sent = sized(atPort(TURNS[api], made.port), made.token);
      const client = new RawClient(made.port);
      const stream = Buffer.concat(eventsOf(api));
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...Object.keys(ENCODINGS)),
          cuts,
          fc.boolean(),
          async (encoding, at, isChunked) => {
            const headers = ["Content-Type", "text/event-stream; charset=utf-8", "Request-Id", "req_1"];
            if (encoding !== "identity") headers.push("Content-Encoding", encoding);
            script = {
              status: 200,
              headers,
              parts: cutAt(ENCODINGS[encoding]?.(stream) ?? stream, at),
              isChunked,
            };
            const from = made.seenCalls.length;
            assertCame(await client.ask(sent), script);
            assertArrived(made, sent);
            await until(() => made.seenCalls.length === from + 2);
            const answer = made.seenCalls.at(-1)?.answer;
            const content = answer?.message.content ?? [];
            assert.equal(answer?.isComplete, true);
            assert.deepEqual(
              content.find(({ type }) => type === "text"),
              { type: "text", text: STEP.text },
            );
            assert.equal(content.filter(({ type }) => type === "toolCall").length, 2);
            assert.equal(answer?.usage?.output, 37);
          },
        ),
        { numRuns: byLength(300, 40, 15) },
      );
      client.end();
      made.log.assertWithout([made.token, "forty", "berths", "sk-harness"]);
    });
  }
});

test("errors of providers come back unchanged, and an answer of Google's", async () => {
  for (const api of APIS) {
    let script: Script = { status: 200, headers: [], parts: [], isChunked: false };
    await withSetting({ api, answer: answerBy(() => script) }, async (made) => {
      const request = atPort(TURNS[api], made.port);
      const protocol = api === "google-generative-ai" ? "google" : api;
      for (const status of [400, 401, 403, 404, 413, 429, 500, 503, 529]) {
        const body = Buffer.from(
          JSON.stringify(errorBody(protocol, status, "The key sk-echoed is no good.")),
        );
        const headers = ["Content-Type", "application/json", "Retry-After", "3", "X-Should-Retry", "false"];
        script = { status, headers, parts: [body], isChunked: status % 2 === 0 };
        assertCame(await askRaw(made, sized(request, made.token)), script);
      }
      await until(() => made.seenCalls.length === 18);
      for (const { what, answer } of made.seenCalls)
        assert.equal(what === "answered" && !answer?.error, false);
      const gemini = google(STEP, { index: 0, model: "gemini-3-pro", usage: { input: 3, output: 4 } }).map(
        frameBytes,
      );
      script = {
        status: 200,
        headers: ["content-type", "text/event-stream"],
        parts: gemini,
        isChunked: true,
      };
      const path = "/v1/models/gemini-3-pro:streamGenerateContent?alt=sse";
      const body = Buffer.from(
        JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Which berth?" }] }] }),
      );
      const sent = sized({ ...request, path, body }, made.token);
      assertCame(await askRaw(made, sent), script);
      assertArrived(made, sent);
      made.log.assertWithout([made.token, "sk-echoed", "Which berth", "forty"]);
    });
  }
});

test("the token may be in the path or in place of the key, and is not sent upstream", async () => {
  await withSetting({ api: "openai-completions", answer: (socket) => socket.write(OK) }, async (made) => {
    const { token, port } = made;
    const request = atPort(TURNS["openai-completions"], port);
    const inPath = sized({ ...request, path: `/t/${token}${request.path}` });
    assert.equal((await askRaw(made, inPath)).status, 200);
    assertArrived(made, inPath);
    const bare = request.headers.filter((_, at) => request.headers[at - (at % 2)] !== "Authorization");
    for (const [name, value] of [
      ["Authorization", `Bearer ${token}`],
      ["X-Api-Key", token],
      ["X-Goog-Api-Key", token],
    ] as const) {
      const sent = sized({ ...request, headers: [...bare, name, value] });
      assert.equal((await askRaw(made, sent)).status, 200);
      assertArrived(made, {
        ...sent,
        headers: sent.headers.filter((_, at) => sent.headers[at - (at % 2)] !== name),
      });
    }
    made.log.assertWithout([token]);
  });
});
