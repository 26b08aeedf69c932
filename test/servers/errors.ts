/** Error bodies as the providers send them. */
import type { Protocol, ReplyStep } from "./script.ts";

const ANTHROPIC_TYPES: Record<number, string> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};
const GOOGLE_STATUSES: Record<number, string> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
};
const OPENAI_CODES: Record<number, string> = {
  401: "invalid_api_key",
  404: "model_not_found",
  429: "rate_limit_exceeded",
};

export function errorBody(protocol: Protocol, status: number, message: string): unknown {
  if (protocol === "anthropic-messages") {
    const fallback = status >= 500 ? "api_error" : "invalid_request_error";
    return { type: "error", error: { type: ANTHROPIC_TYPES[status] ?? fallback, message } };
  }
  if (protocol === "google") {
    const fallback = status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT";
    return { error: { code: status, message, status: GOOGLE_STATUSES[status] ?? fallback } };
  }
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return { error: { message, type, param: null, code: OPENAI_CODES[status] ?? null } };
}

/** A provider's reply to a context that does not fit: its real status and text. */
export function contextOverflowReply(protocol: Protocol): ReplyStep {
  switch (protocol) {
    case "openai-responses": {
      const message =
        "Your input exceeds the context window of this model. Please adjust your input and try again.";
      const error = {
        message,
        type: "invalid_request_error",
        param: "input",
        code: "context_length_exceeded",
      };
      return { status: 400, errorBody: { error } };
    }
    case "openai-completions": {
      const message =
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130102 tokens. " +
        "Please reduce the length of the messages.";
      const error = {
        message,
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded",
      };
      return { status: 400, errorBody: { error } };
    }
    case "anthropic-messages": {
      const message = "prompt is too long: 213462 tokens > 200000 maximum";
      return { status: 400, errorBody: { type: "error", error: { type: "invalid_request_error", message } } };
    }
    case "google": {
      const message =
        "The input token count (1056789) exceeds the maximum number of tokens allowed (1048576).";
      return { status: 400, errorBody: { error: { code: 400, message, status: "INVALID_ARGUMENT" } } };
    }
  }
}
