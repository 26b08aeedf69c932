/** OpenAI's Chat Completions API, as most servers and clients with a base URL implement it. */
import type { AssistantMessage } from "@pagurus/contract/message";
import { completionsReader } from "@pagurus/core/protocols/completions/completions-reader";
import { PassingReader } from "../passing-reader.ts";
import type { Dialect, WireFault, WireReply } from "../wire-dialect.ts";
import { encodeMessages } from "./completions-encode.ts";
import { readRequest } from "./completions-request.ts";
import { CompletionsWriter } from "./completions-writer.ts";

/** Status, type and code, as OpenAI's own errors have them. */
const FAULTS: Readonly<Record<WireFault, readonly [number, string, string | null]>> = {
  bad_request: [400, "invalid_request_error", null],
  unauthorized: [401, "invalid_request_error", "invalid_api_key"],
  not_found: [404, "invalid_request_error", "not_found"],
  too_large: [413, "invalid_request_error", "body_too_large"],
  overloaded: [503, "server_error", "overloaded"],
  context_overflow: [400, "invalid_request_error", "context_length_exceeded"],
  cost_limit: [402, "insufficient_quota", "cost_limit"],
  upstream_failed: [502, "server_error", "upstream_failed"],
  internal: [500, "server_error", "internal_error"],
};

function fault(kind: WireFault, message: string): WireReply {
  const [status, type, code] = FAULTS[kind];
  const body = Buffer.from(JSON.stringify({ error: { message, type, param: null, code } }));
  return { status, headers: { "content-type": "application/json" }, body };
}

export const completionsDialect: Dialect = {
  api: "openai-completions",
  read: (path, _headers, body) => readRequest(path, body),
  encode: encodeMessages,
  reader: (status, headers) => new PassingReader(completionsReader({ status, headers }), { status }),
  answer: (request, text, usage) => {
    const content: AssistantMessage["content"] = [{ type: "text", text }];
    const writer = new CompletionsWriter(request);
    const message: AssistantMessage = { role: "assistant", content, usage, stopReason: "stop" };
    return { ...writer.head, body: writer.write({ type: "finish", message }) };
  },
  writer: (request) => new CompletionsWriter(request),
  fault,
};
