import assert from "node:assert/strict";
import { test } from "node:test";
import { saysContextOverflow } from "../../src/model/quirks/error-phrases.ts";
import { contextOverflowReply, type ReplyStep } from "../servers/server.ts";
import { PROTOCOLS, withServer } from "./calling.ts";

for (const protocol of PROTOCOLS) {
  test(`${protocol}: the provider's overflow error is context_overflow and is not retried`, async () => {
    await withServer(protocol, [contextOverflowReply(protocol)], async ({ server, call }) => {
      await assert.rejects(call({}), { code: "context_overflow" });
      assert.equal(server.requests.length, 1);
    });
  });
}

test("openai-responses: an overflow that arrives inside the stream is context_overflow", async () => {
  const step: ReplyStep = {
    errorEvent: {
      code: "context_length_exceeded",
      message: "Your input exceeds the context window of this model.",
    },
  };
  await withServer("openai-responses", [step], async ({ call }) => {
    await assert.rejects(call({}), { code: "context_overflow" });
  });
});

test("overflow is recognised at any status and in any form of the body", async () => {
  const bodies: [number, unknown][] = [
    [400, { error: "input length exceeds maximum context length" }],
    [
      500,
      {
        error: {
          message: "the request exceeds the available context size, try increasing it",
          type: "exceed_context_size_error",
        },
      },
    ],
    [413, { error: { type: "request_too_large", message: "Request exceeds the maximum size" } }],
    [400, "This model's maximum context length is 4096 tokens"],
  ];
  for (const [status, errorBody] of bodies) {
    await withServer("openai-completions", [{ status, errorBody }], async ({ server, call }) => {
      await assert.rejects(call({}), { code: "context_overflow" }, String(status));
      assert.equal(server.requests.length, 1);
    });
  }
});

const OVERFLOWS = {
  "OpenAI Responses":
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
  "OpenAI Chat":
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
  Anthropic: "prompt is too long: 213462 tokens > 200000 maximum",
  "Anthropic, with the output":
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
  Google: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
  vLLM: "The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller.",
  "llama.cpp": "the request exceeds the available context size, try increasing it",
  Ollama: "prompt too long; exceeded max context length by 431 tokens",
  "Ollama, older": "the input length exceeds the context length",
  "LM Studio":
    "Trying to keep the first 6846 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
  "LM Studio, older":
    "The number of tokens to keep from the initial prompt is greater than the context length.",
  OpenRouter:
    "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens. Please reduce the length of either one, or use the context-compression plugin.",
  xAI: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  Groq: "Please reduce the length of the messages or completion.",
};
for (const [name, text] of Object.entries(OVERFLOWS)) {
  test(`overflow phrase of ${name}`, () => {
    assert.equal(saysContextOverflow(text), true);
  });
}

test("rate limits that count tokens, and other refusals, are no overflow", () => {
  const others = [
    "Rate limit reached for gpt-5.5 on tokens per min (TPM): Limit 30000, Used 29000, Requested 9000.",
    "Request too large for gpt-5.5 on tokens per min (TPM): Limit 30000, Requested 40000.",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
    "max_tokens is too large: 500000. This model supports at most 128000 completion tokens.",
    "Invalid value for 'tools[0].name'.",
    "image exceeds 5 MB maximum",
  ];
  for (const text of others) assert.equal(saysContextOverflow(text), false, text);
});
