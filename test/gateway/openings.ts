/** Streams of the four dialects: how they begin, how they report a context overflow, and what else may come first. */
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";

export interface Speech {
  api: WireApi;
  path: string;
  body: string;
  /** Events that only show that an answer begins. */
  begins: string[];
  tooLong: string;
  busy: string;
  /** Events with output. */
  says: string[];
  ends: string[];
}

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;
const response = (type: string, more: object = {}): string =>
  event(`response.${type}`, { response: { id: "resp_1", status: type, error: null, ...more } });

const WORDS = [
  { role: "user", content: "one" },
  { role: "assistant", content: "first" },
  { role: "user", content: "two" },
];

export const RESPONSES: Speech = {
  api: "openai-responses",
  path: "/responses",
  body: JSON.stringify({
    model: "m",
    stream: true,
    input: WORDS.map(({ role, content }) => ({
      type: "message",
      role,
      content: [{ type: role === "user" ? "input_text" : "output_text", text: content }],
    })),
  }),
  begins: [response("created"), response("in_progress")],
  tooLong: response("failed", {
    error: {
      code: "context_length_exceeded",
      message: "Your input exceeds the context window of this model.",
    },
  }),
  busy: response("failed", { error: { code: "server_error", message: "Try again." } }),
  says: [
    event("response.output_item.added", { output_index: 0, item: { type: "message", content: [] } }),
    event("response.output_text.delta", { output_index: 0, delta: "The berth is free." }),
  ],
  ends: [response("completed", { output: [] })],
};

export const MESSAGES: Speech = {
  api: "anthropic-messages",
  path: "/messages",
  body: JSON.stringify({ model: "m", stream: true, max_tokens: 100, messages: WORDS }),
  begins: [
    event("message_start", { message: { role: "assistant", content: [], usage: { input_tokens: 4 } } }),
    event("ping"),
  ],
  tooLong: event("error", {
    error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
  }),
  busy: event("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
  says: [
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "The berth is free." } }),
  ],
  ends: [event("message_delta", { delta: { stop_reason: "end_turn" } }), event("message_stop")],
};

export const COMPLETIONS: Speech = {
  api: "openai-completions",
  path: "/chat/completions",
  body: JSON.stringify({ model: "m", stream: true, messages: WORDS }),
  begins: [
    ": processing\n\n",
    'data: {"choices":[],"prompt_filter_results":[]}\n\n',
    chunk({ role: "assistant", content: "", refusal: null }),
  ],
  tooLong: `data: ${JSON.stringify({
    error: { code: "context_length_exceeded", message: "This model's maximum context length is 100 tokens." },
  })}\n\n`,
  busy: `data: ${JSON.stringify({ error: { code: "server_error", message: "Try again." } })}\n\n`,
  says: [chunk({ content: "The berth " }), chunk({ content: "is free." })],
  ends: [chunk({}, { finish_reason: "stop" }), "data: [DONE]\n\n"],
};

const candidate = (parts: object[], more: object = {}): string =>
  `data: ${JSON.stringify({ candidates: [{ content: { role: "model", parts }, index: 0, ...more }] })}\n\n`;

export const GENERATE_CONTENT: Speech = {
  api: "google-generative-ai",
  path: "/v1beta/models/m:streamGenerateContent?alt=sse",
  body: JSON.stringify({
    contents: WORDS.map(({ role, content }) => ({
      role: role === "user" ? "user" : "model",
      parts: [{ text: content }],
    })),
  }),
  begins: [
    `data: ${JSON.stringify({ usageMetadata: { promptTokenCount: 4 }, modelVersion: "m" })}\n\n`,
    candidate([{ text: "" }]),
  ],
  tooLong: `data: ${JSON.stringify({
    error: {
      code: 400,
      message: "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
      status: "INVALID_ARGUMENT",
    },
  })}\n\n`,
  busy: `data: ${JSON.stringify({
    error: { code: 503, message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" },
  })}\n\n`,
  says: [candidate([{ text: "The berth " }]), candidate([{ text: "is free." }])],
  ends: [candidate([], { finishReason: "STOP" })],
};

export const SPEECHES = [RESPONSES, MESSAGES, COMPLETIONS, GENERATE_CONTENT];
