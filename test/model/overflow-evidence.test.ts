/** Overflows that no words report, and windows that words name. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeModel } from "../../packages/core/src/model/resolve.ts";
import { windowIn } from "../../packages/core/src/model/learned-windows.ts";
import { API, withServer } from "./calling.ts";

const LONG = "The quick brown fox jumps over the lazy dog. ".repeat(400);
const SMALL = { model: { contextWindow: 4_000 } };

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
    return "success";
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}

describe("a refusal without words about length", () => {
  for (const status of [400, 413, 422])
    it(`of HTTP ${status} is an overflow if the request is near the window, and is asked once`, async () => {
      const step = { status, errorBody: { error: { message: "Bad input" } } };
      await withServer(
        "openai-completions",
        [step, step],
        async ({ server, call }) => {
          const messages = [{ role: "user" as const, content: LONG }];
          await assert.rejects(call({ messages }), { code: "context_overflow", message: /Bad input/ });
          assert.equal(server.requests.length, 1);
        },
        SMALL,
      );
    });

  it("is none if the request is small, or if the status is about something else", async () => {
    const refuse = (status: number, content: string): Promise<unknown> => {
      const step = { status, errorBody: { error: { message: "Bad input" } } };
      return new Promise((resolve, reject) => {
        withServer(
          "openai-completions",
          [step],
          async ({ call }) => resolve(await codeOf(call({ messages: [{ role: "user", content }] }))),
          SMALL,
        ).catch(reject);
      });
    };
    assert.equal(await refuse(400, "Hello"), "model_bad_request");
    assert.equal(await refuse(404, LONG), "model_bad_request");
    assert.equal(await refuse(401, LONG), "model_auth");
  });
});

describe("a window that an overflow names", () => {
  const sentences: [string, number | undefined][] = [
    [
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      8_192,
    ],
    ["Requested tokens (9000) exceed context window of 8192", 8_192],
    ["prompt is too long: 213462 tokens > 200000 maximum", 200_000],
    ["prompt token count of 130000 exceeds the limit of 128,000", 128_000],
    ["Input length 230000 exceeds the maximum length 229376", 229_376],
    ["the request exceeds the available context size, try increasing it", undefined],
    ["上下文过长", undefined],
  ];
  for (const [words, window] of sentences)
    it(`is ${window ?? "none"} in: ${words}`, () => assert.equal(windowIn(words), window));

  it("is the model's from then on", async () => {
    const errorBody = { error: { message: "This model's maximum context length is 8192 tokens." } };
    await withServer("openai-completions", [{ status: 400, errorBody }], async ({ server, call }) => {
      await assert.rejects(call({}), { code: "context_overflow" });
      const provider = (baseUrl: string): object => ({
        api: API["openai-completions"],
        baseUrl,
        models: [{ id: "m-1" }],
      });
      const config = {
        models: { providers: { local: provider(server.url), other: provider("http://127.0.0.1:1") } },
      };
      assert.equal(describeModel("local/m-1", config as never).contextWindow, 8_192);
      assert.ok(describeModel("other/m-1", config as never).contextWindow > 8_192);
      assert.ok(describeModel("local/m-2", config as never).contextWindow > 8_192);
    });
  });
});
