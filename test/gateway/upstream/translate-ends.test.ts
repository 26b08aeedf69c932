/** How a translated answer begins, fails and is aborted. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import fc from "fast-check";
import { PagurusError } from "../../../packages/contract/src/errors.ts";
import { contextOverflowReply } from "../../servers/server.ts";
import type { Protocol, ReplyStep } from "../../servers/server.ts";
import { modelAt, withServer, type Calling } from "../../model/calling.ts";
import { answerOf, APIS, ask, bytesOf, DIALECTS, send, type Body } from "./translating.ts";
import { until } from "../../runner/until.ts";
import { turns } from "../../runner/loop-turns.ts";

const USER = [{ role: "user", content: "Where is the whelk?" }];

function bodyOf(api: string, stream = true, more: Body = {}): Body {
  return {
    model: "m",
    ...(api === "openai-responses"
      ? { input: USER }
      : api === "google-generative-ai"
        ? { contents: USER.map(({ role, content }) => ({ role, parts: [{ text: content }] })) }
        : { messages: USER }),
    ...(api === "anthropic-messages" ? { max_tokens: 100 } : {}),
    stream,
    ...more,
  };
}

/** A server of another protocol. */
function otherThan(api: string): Protocol {
  return api === "openai-completions" ? "anthropic-messages" : "openai-completions";
}

for (const api of APIS) {
  const with_ = (script: readonly ReplyStep[], work: (calling: Calling) => Promise<void>): Promise<void> =>
    withServer(otherThan(api), script, work);

  describe(`a translated answer for ${api}`, () => {
    it("begins when the model does: earlier failed calls are retried and not reported", () =>
      with_([{ status: 500 }, { cutAfterChunks: 0 }, { text: "Here." }], async ({ server, model }) => {
        const answer = await ask(model, { api, body: bodyOf(api) });
        assert.deepEqual(
          [answer.message.content, answer.isComplete],
          [[{ type: "text", text: "Here." }], true],
        );
        assert.equal(server.requests.length, 3);
      }));

    it("fails if the model's is cut after its first output, and is not restarted", () =>
      with_(
        [{ text: "I look behind the pier.", chunkSize: 2, cutAfterChunks: 5 }, { text: "Again." }],
        async ({ server, model }) => {
          const answer = await send(model, { api, body: bodyOf(api) });
          assert.equal(answer.status, 200);
          const { error, isComplete, message } = await answerOf(api, answer);
          assert.ok(error, JSON.stringify(message));
          assert.equal(isComplete, false);
          assert.ok(!JSON.stringify(message).includes("Again."));
          assert.equal(server.requests.length, 1);
        },
      ));

    it("is retried if nothing of it is sent before its end", () =>
      with_([{ text: "I look.", chunkSize: 1, cutAfterChunks: 4 }, { text: "Again." }], async ({ model }) => {
        const answer = await ask(model, { api, body: bodyOf(api, false) });
        assert.deepEqual(
          [answer.message.content, answer.isComplete],
          [[{ type: "text", text: "Again." }], true],
        );
      }));

    const refusals: [string, readonly ReplyStep[], number, boolean][] = [
      ["the key", [{ status: 401 }], 401, false],
      ["the rate", [{ status: 429 }, { status: 429 }, { status: 429 }], 429, false],
      ["the request", [{ status: 422 }], 400, false],
      ["the model", [{ status: 404, errorBody: { error: { message: "model m-1 not found" } } }], 404, false],
      ["everything, for now", [{ status: 503 }, { status: 503 }, { status: 503 }], 502, false],
      ["the context", [contextOverflowReply(otherThan(api))], 400, true],
    ];
    for (const [what, script, status, overflow] of refusals) {
      it(`reports in the harness's protocol that the server refuses ${what}`, () =>
        with_(script, async ({ model }) => {
          const answer = await send(model, { api, body: bodyOf(api) });
          assert.equal(answer.status, status);
          const { error } = await answerOf(api, answer);
          assert.equal(error?.overflow, overflow, JSON.stringify(error));
          assert.ok(error.message.length > 10, error.message);
        }));
    }

    it("is a refusal if no process listens at the model's address", async () => {
      const model = modelAt("http://127.0.0.1:1", otherThan(api));
      assert.equal((await send(model, { api, body: bodyOf(api) })).status, 502);
    });

    it(
      "ends the model's call when the harness disconnects, also while the model sends nothing",
      { timeout: 60_000 },
      () =>
        with_([{ text: "I look behind the pier.", hangAfterChunks: 5 }], async ({ server, model }) => {
          const { stream } = await send(model, { api, body: bodyOf(api) });
          await once(stream.resume(), "data");
          // Everything available has been read, so that the answer waits for the model.
          await turns();
          stream.destroy();
          assert.equal((await server.clientClosed()).request, 0);
        }),
    );

    it("throws if the harness disconnects before it begins", () =>
      with_([{ text: "I look.", hangAfterChunks: 0 }], async ({ server, model }) => {
        const left = new AbortController();
        const sent = send(model, { api, body: bodyOf(api), signal: left.signal });
        const closed = server.clientClosed();
        const refused = assert.rejects(
          sent,
          (error) => error instanceof PagurusError && error.code === "turn_aborted",
        );
        await until(() => server.requests.length !== 0);
        left.abort();
        await refused;
        await closed;
      }));

    it("is a refusal of a truncated request, and never anything else", () =>
      with_([], async ({ server, model }) => {
        const tools = [{ type: "function", name: "look", function: { name: "look" }, input_schema: {} }];
        const whole = JSON.stringify(bodyOf(api, true, { tools, reasoning: { effort: "low" } }));
        await fc.assert(
          fc.asyncProperty(fc.nat(whole.length - 1), async (cut) => {
            const answer = await send(model, { api, body: whole.slice(0, cut) });
            assert.equal(answer.status, 400);
            await bytesOf(answer);
          }),
          { numRuns: 60, seed: 8 },
        );
        assert.equal(server.requests.length, 0);
      }));

    it("is a refusal if the harness's own instructions fill the model's window", () =>
      withServer(
        otherThan(api),
        [],
        async ({ server, model }) => {
          const rules = "whelk ".repeat(5_000);
          const [user] = USER;
          const body =
            api === "openai-responses"
              ? bodyOf(api, true, { instructions: rules })
              : api === "anthropic-messages"
                ? bodyOf(api, true, { system: rules })
                : api === "google-generative-ai"
                  ? bodyOf(api, true, { systemInstruction: { parts: [{ text: rules }] } })
                  : bodyOf(api, true, { messages: [{ role: "system", content: rules }, user] });
          const answer = await send(model, { api, body });
          assert.equal(answer.status, 400);
          const { error } = await answerOf(api, answer);
          assert.match(error?.message ?? "", /take about \d+ tokens.*local\/m-1.*4000.*choose/s);
          assert.equal(error?.overflow, false, "no compaction helps");
          assert.equal(server.requests.length, 0);
        },
        { model: { contextWindow: 4_000 } },
      ));

    it("is a refusal of a path that calls no model", () =>
      with_([], async ({ model }) => {
        const list = await send(model, { api, body: "", method: "GET", path: "/models" });
        const other = await send(model, { api, body: bodyOf(api), path: "/embeddings" });
        assert.deepEqual([list.status, other.status], [404, 404]);
      }));

    it("sends keep-alive events while the model sends nothing", () =>
      with_([{ text: "I look behind the pier.", delayMs: 60 }], async ({ model }) => {
        const bytes = await bytesOf(await send(model, { api, body: bodyOf(api), aliveMs: 20 }));
        assert.match(bytes.toString(), /: alive\n\n|"keepalive"|event: ping|data: \{\}\n\n/);
        const reader = DIALECTS[api].dialect.reader(200, { "content-type": "text/event-stream" });
        reader.take(bytes);
        const { message, isComplete } = reader.end();
        assert.deepEqual(message.content, [{ type: "text", text: "I look behind the pier." }]);
        assert.equal(isComplete, true);
      }));
  });
}

describe("an answer as one JSON list", () => {
  it("stays one while the model sends nothing", () =>
    withServer(
      "openai-completions",
      [{ text: "I look behind the pier.", delayMs: 60 }],
      async ({ model }) => {
        const api = "google-generative-ai";
        const path = "/v1beta/models/m:streamGenerateContent";
        const answer = await send(model, { api, body: bodyOf(api), path, aliveMs: 20 });
        const text = (await bytesOf(answer)).toString();
        assert.match(text, /\n\n/);
        const chunks = JSON.parse(text) as { candidates: unknown[] }[];
        assert.ok(chunks.length > 1 && chunks.every(({ candidates }) => candidates.length === 1));
      },
    ));
});

describe("a request to count tokens", () => {
  it("is answered by an estimate", () =>
    withServer("openai-completions", [], async ({ model }) => {
      const api = "anthropic-messages";
      const body = bodyOf(api, false, { system: "whelk ".repeat(1_000) });
      const answer = await send(model, { api, body, path: "/messages/count_tokens?beta=true" });
      const { input_tokens: tokens } = JSON.parse((await bytesOf(answer)).toString()) as {
        input_tokens: number;
      };
      assert.ok(answer.status === 200 && tokens > 900 && tokens < 3_000, String(tokens));
    }));

  it("of Google's protocol is answered by one too, in either form of its body", () =>
    withServer("openai-completions", [], async ({ model }) => {
      const api = "google-generative-ai";
      const contents = [{ role: "user", parts: [{ text: "whelk ".repeat(1_000) }] }];
      for (const body of [{ contents }, { generateContentRequest: { model: "models/m", contents } }]) {
        const answer = await send(model, { api, body, path: "/v1beta/models/m:countTokens" });
        const { totalTokens } = JSON.parse((await bytesOf(answer)).toString()) as { totalTokens: number };
        assert.ok(answer.status === 200 && totalTokens > 900 && totalTokens < 3_000, String(totalTokens));
      }
    }));
});
