import assert from "node:assert/strict";
import { test } from "node:test";
import { saysContextOverflow } from "../../packages/core/src/model/quirks/error-phrases.ts";
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

const SENTENCES = [
  "Context size has been exceeded.",
  "prompt token count of 130000 exceeds the limit of 128000",
  "You passed 32769 input tokens and requested 0 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 32768 tokens.",
  "Unable to submit request because the input token count is 40000 but model only supports up to 32768.",
  "litellm.ContextWindowExceededError: litellm.BadRequestError",
  "Requested tokens (9000) exceed context window of 8192",
  "Input length 230000 exceeds the maximum length 229376",
  "Total tokens of image and text exceed max message tokens",
  "Input exceeds the max input token limit",
  "上下文过长",
  "Request has 9000 tokens, which exceeds the model limit of 8192",
  "This model only supports up to 16384 tokens, your messages have 20001.",
  "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
  "The input is too long: 40000 tokens, limit is 32000 tokens.",
  "Prompt tokens (70000) + max_tokens (8192) exceeds the model's maximum of 65536",
  "exceeds the configured limit n_ctx = 4096",
  "Your conversation is too long, please start a new one (tokens: 210000)",
  "Token limit exceeded: the prompt has 140211 tokens",
  "the request is too long: 140000 tokens",
  "Range of input length should be [1, 98304]",
  "输入长度超过模型最大长度限制",
  "請求的上下文長度超出限制",
  "入力トークン数が上限を超えています",
  "コンテキストが長すぎます",
  "입력 토큰 수가 최대값을 초과했습니다",
  "Длина контекста превышает допустимый предел",
  "Die Eingabe ist zu lang für den Kontext des Modells",
  "La requête dépasse la longueur maximale du contexte",
  "El contexto excede el máximo de tokens",
  "O prompt excede o limite máximo de tokens",
];
for (const text of SENTENCES)
  test(`an overflow in other words: ${text}`, () => assert.equal(saysContextOverflow(text), true));

test("rate limits that count tokens, and other refusals, are no overflow", () => {
  const others = [
    "Rate limit reached for gpt-5.5 on tokens per min (TPM): Limit 30000, Used 29000, Requested 9000.",
    "Request too large for gpt-5.5 on tokens per min (TPM): Limit 30000, Requested 40000.",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
    "max_tokens is too large: 500000. This model supports at most 128000 completion tokens.",
    "Invalid value for 'tools[0].name'.",
    "image exceeds 5 MB maximum",
    "messages.3.content.0.image.source: image exceeds 5 MB maximum: 5400000 bytes > 5242880 bytes",
    "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
    "The requested max_tokens 9000 exceeds the maximum output tokens 4096 of the model",
    "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.",
    "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64.",
    "Invalid 'messages[2].name': string too long. Expected a string with maximum length 64, but got 80.",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 200 instead.",
    "You exceeded your current quota: input token count, limit 250000 per minute.",
    "Invalid token: the access token has expired; the request was refused.",
    "Unexpected token < in JSON at position 0, while the request was read to its maximum",
    "Authentication token is too long",
    "messages: text content blocks must be non-empty",
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after",
    "Your request exceeded the maximum number of images, 20",
    "temperature: range: 0..1",
    "请求频率超过限制，请稍后再试",
    "您的账户余额不足",
    "Model m does not support tools",
    "thinking.budget_tokens: Input should be greater than or equal to 1024",
    "`max_tokens` must be greater than `thinking.budget_tokens`",
  ];
  for (const text of others) assert.equal(saysContextOverflow(text), false, text);
});
