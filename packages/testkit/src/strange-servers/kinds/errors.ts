/** Errors in every form of a body: the user has to see the server's words. */
import type { Frame, Protocol } from "../../endpoint/script.ts";
import {
  JSON_BODY,
  ofKind,
  plainFrames,
  REPLIES,
  streamText,
  type StrangeAnswer,
  type Variant,
} from "../strange-answer.ts";

const PLAIN_WORDS = "the cat ate the graphics card";

const FORMS: readonly (readonly [name: string, title: string, body: unknown])[] = [
  ["text", "as the text of `error`", { error: PLAIN_WORDS }],
  [
    "message",
    "as the message of `error`",
    { error: { message: PLAIN_WORDS, type: "server_error", code: null } },
  ],
  ["number", "with a number as its code", { error: { message: PLAIN_WORDS, code: 4711 } }],
  [
    "typed",
    "as Anthropic does",
    { type: "error", error: { type: "invalid_request_error", message: PLAIN_WORDS } },
  ],
  ["google", "as Google does", { error: { code: 400, message: PLAIN_WORDS, status: "INVALID_ARGUMENT" } }],
  [
    "google-list",
    "as Google does, in a list",
    [{ error: { code: 400, message: PLAIN_WORDS, status: "INVALID_ARGUMENT" } }],
  ],
  [
    "fastapi",
    "as FastAPI does",
    { detail: [{ loc: ["body", "tools", 0], msg: PLAIN_WORDS, type: "type_error" }] },
  ],
  ["detail", "as the text of `detail`", { detail: PLAIN_WORDS }],
  ["detail-object", "as an object in `detail`", { detail: { error: PLAIN_WORDS } }],
  ["top", "as a message at the top", { object: "error", message: PLAIN_WORDS, code: 400 }],
  ["errors", "as a list `errors`", { errors: [{ message: PLAIN_WORDS, code: 5006 }], success: false }],
  ["errors-text", "as a list of texts", { errors: [PLAIN_WORDS] }],
  [
    "nested",
    "of its own server",
    { error: { message: JSON.stringify({ error: { message: PLAIN_WORDS } }) } },
  ],
  [
    "raw",
    "with the words of its provider",
    { error: { message: "Provider returned error", code: 400, metadata: { raw: PLAIN_WORDS } } },
  ],
  [
    "raw-json",
    "with the JSON of its provider",
    {
      error: {
        message: "Provider returned error",
        code: 400,
        metadata: { raw: JSON.stringify({ error: { message: PLAIN_WORDS } }) },
      },
    },
  ],
  [
    "problem",
    "as a problem document",
    { type: "about:blank", title: "Bad Request", detail: PLAIN_WORDS, status: 400 },
  ],
  ["description", "as OAuth does", { error: "invalid_request", error_description: PLAIN_WORDS }],
];

/** Answers with a status of a failure. */
export function httpErrors(protocol: Protocol): StrangeAnswer[] {
  const right = { error: PLAIN_WORDS };
  const variants = FORMS.flatMap(([name, how, body]): Variant[] =>
    [400, 422].map((status) => ({
      name: `${status}-${name}`,
      title: `refuses a request with HTTP ${status} and an error ${how}`,
      status,
      headers: JSON_BODY,
      body: JSON.stringify(body),
      right,
    })),
  );
  const plain = {
    name: "400-plain",
    title: "refuses a request with plain text",
    status: 400,
    headers: { "content-type": "text/plain" },
    body: PLAIN_WORDS,
    right,
  };
  return ofKind("http-error", protocol, [...variants, plain]);
}

/** Errors with HTTP 200, as one body. */
const OF_SUCCESS = ["text", "message", "typed", "google", "google-list", "detail", "errors"];

export function bodyErrors(protocol: Protocol): StrangeAnswer[] {
  const variants = FORMS.filter(([name]) => OF_SUCCESS.includes(name)).map(([name, how, body]) => ({
    name,
    title: `answers with HTTP 200 and a JSON error ${how}`,
    headers: JSON_BODY,
    body: JSON.stringify(body),
    right: { error: PLAIN_WORDS },
  }));
  return ofKind("body-error", protocol, variants);
}

const FRAMES: readonly (readonly [name: string, title: string, frame: Frame])[] = [
  ["text", "as the text of `error`", { data: JSON.stringify({ error: PLAIN_WORDS }) }],
  [
    "object",
    "as the message of `error`",
    { data: JSON.stringify({ error: { message: PLAIN_WORDS, type: "server_error" } }) },
  ],
  [
    "named",
    "as an event `error` with a message",
    { event: "error", data: JSON.stringify({ message: PLAIN_WORDS, code: 500 }) },
  ],
  [
    "named-object",
    "as an event `error` with an error",
    { event: "error", data: JSON.stringify({ error: { message: PLAIN_WORDS } }) },
  ],
  ["named-text", "as an event `error` with text", { event: "error", data: PLAIN_WORDS }],
  [
    "typed",
    "as an object of the type error",
    { data: JSON.stringify({ type: "error", error: { type: "api_error", message: PLAIN_WORDS } }) },
  ],
];

export function streamErrors(protocol: Protocol): StrangeAnswer[] {
  const begun = plainFrames(protocol, { ...REPLIES.text, omitEnd: true });
  const right = { error: PLAIN_WORDS };
  const forms =
    protocol === "google" ? FRAMES.filter(([name]) => name === "text" || name === "object") : FRAMES;
  const variants = forms.flatMap(([name, how, frame]): Variant[] => [
    {
      name: `${name}-first`,
      title: `begins its stream with an error ${how}`,
      body: streamText([frame]),
      right,
    },
    {
      name: `${name}-late`,
      title: `ends its stream with an error ${how}`,
      body: streamText([...begun, frame]),
      right,
    },
  ]);
  const bare = {
    name: "bare",
    title: "writes an error into its stream without a field",
    body: `${streamText(begun)}${JSON.stringify({ error: { message: PLAIN_WORDS } })}\n\n`,
    right,
  };
  return ofKind("stream-error", protocol, [...variants, bare, ...ownErrors(protocol)]);
}

/** Forms of one protocol. */
function ownErrors(protocol: Protocol): Variant[] {
  if (protocol !== "openai-responses") return [];
  const begun = plainFrames(protocol, { ...REPLIES.text, omitEnd: true });
  const response = { id: "resp_0", object: "response", status: "failed", model: "m", output: [] };
  const error = { code: "server_error", message: PLAIN_WORDS };
  const failed = { type: "response.failed", response: { ...response, error } };
  const event = { type: "error", code: "invalid_prompt", message: PLAIN_WORDS, param: null };
  const right = { error: PLAIN_WORDS };
  return [
    {
      name: "failed",
      title: "fails its response",
      body: streamText([...begun, { event: "response.failed", data: JSON.stringify(failed) }]),
      right,
    },
    {
      name: "event",
      title: "sends an error event without a sequence number",
      body: streamText([...begun, { event: "error", data: JSON.stringify(event) }]),
      right,
    },
    {
      name: "null-code",
      title: "sends an error event without a code",
      body: streamText([...begun, { event: "error", data: JSON.stringify({ ...event, code: null }) }]),
      right,
    },
  ];
}
