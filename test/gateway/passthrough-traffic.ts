/** Requests and answers as harnesses and providers send them: recorded ones, and ones of the testkit's writers. */
import { readdirSync, readFileSync } from "node:fs";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import type { WireApi } from "../../packages/contract/src/harness/wire.ts";
import { anthropicMessages } from "../../packages/testkit/src/endpoint/anthropic-messages.ts";
import { google } from "../../packages/testkit/src/endpoint/google.ts";
import { openAiCompletions } from "../../packages/testkit/src/endpoint/openai-completions.ts";
import { openAiResponses } from "../../packages/testkit/src/endpoint/openai-responses.ts";
import type { Frame, ReplyContext, ReplyStep } from "../../packages/testkit/src/endpoint/script.ts";
import type { RawRequest } from "./passthrough-setting.ts";

const FOLDER = new URL("./recorded/", import.meta.url);

export interface Recorded extends RawRequest {
  name: string;
  api: WireApi;
}

/** The request in a file, with either kind of line end. */
function requestIn(file: Buffer): RawRequest {
  const isCrlf = file.indexOf("\r\n\r\n") >= 0;
  const gap = isCrlf ? "\r\n\r\n" : "\n\n";
  const end = file.indexOf(gap);
  const [first = "", ...lines] = file.toString("latin1", 0, end).split(isCrlf ? "\r\n" : "\n");
  const [method = "", path = ""] = first.split(" ");
  const headers = lines.flatMap((line) => [
    line.slice(0, line.indexOf(":")),
    line.slice(line.indexOf(":") + 2),
  ]);
  return { method, path, headers, body: file.subarray(end + gap.length) };
}

function apiOf(path: string): WireApi {
  if (path.includes("/models/")) return "google-generative-ai";
  return path.includes("/messages") ? "anthropic-messages" : "openai-responses";
}

export const RECORDED: readonly Recorded[] = readdirSync(FOLDER).flatMap((harness) =>
  readdirSync(new URL(`${harness}/`, FOLDER))
    .filter((file) => file.endsWith(".http"))
    .map((file): Recorded => {
      const request = requestIn(readFileSync(new URL(`${harness}/${file}`, FOLDER)));
      return { name: `${harness}/${file}`, api: apiOf(request.path), ...request };
    }),
);

export function recorded(name: string): Recorded {
  const found = RECORDED.find((each) => each.name === name);
  if (!found) throw new Error(`There is no recorded request ${name}.`);
  return found;
}

const COMPLETIONS_BODY = JSON.stringify({
  model: "mock-model",
  stream: true,
  stream_options: { include_usage: true },
  messages: [
    { role: "system", content: "You look after the quay of the town." },
    { role: "user", content: "Which berths are free this evening?" },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_a", type: "function", function: { name: "berths", arguments: '{"side":"north"}' } },
        { id: "call_b", type: "function", function: { name: "berths", arguments: '{"side":"south"}' } },
      ],
    },
    { role: "tool", tool_call_id: "call_a", content: "The third and the ninth." },
    { role: "tool", tool_call_id: "call_b", content: "None before midnight." },
    { role: "assistant", content: "The third and the ninth on the north side." },
    { role: "user", content: "And which one takes a ship of forty metres?" },
  ],
  tools: [{ type: "function", function: { name: "berths", parameters: { type: "object", properties: {} } } }],
});

const GENERATE_CONTENT_BODY = JSON.stringify({
  contents: [
    { parts: [{ text: "Which berths are free this evening?" }], role: "user" },
    {
      parts: [
        {
          functionCall: { name: "berths", args: { side: "north" } },
          thoughtSignature: "c2lnbmVkIGJ5IHRoZSBtb2RlbA==",
        },
        { functionCall: { name: "berths", args: { side: "south" } } },
      ],
      role: "model",
    },
    {
      parts: [
        {
          functionResponse: {
            id: "berths_1764000000000_0",
            name: "berths",
            response: { output: "The third and the ninth." },
          },
        },
        {
          functionResponse: {
            id: "berths_1764000000000_1",
            name: "berths",
            response: { output: "None before midnight." },
          },
        },
      ],
      role: "user",
    },
    { parts: [{ text: "The third and the ninth on the north side." }], role: "model" },
    { parts: [{ text: "And which one takes a ship of forty metres?" }], role: "user" },
  ],
  systemInstruction: { parts: [{ text: "You look after the quay of the town." }], role: "user" },
  tools: [
    { functionDeclarations: [{ name: "berths", parametersJsonSchema: { type: "object", properties: {} } }] },
  ],
  generationConfig: { temperature: 1, thinkingConfig: { includeThoughts: true } },
});

/** A turn of a conversation with calls, in each protocol. */
export const TURNS: Readonly<Record<WireApi, RawRequest>> = {
  "openai-responses": recorded("codex-0.169.0/loop-2.http"),
  "anthropic-messages": recorded("claude-code-2.1.330/opus-tool-results.http"),
  "openai-completions": {
    path: "/v1/chat/completions",
    headers: ["Content-Type", "application/json", "Authorization", "Bearer sk-harness-own-key"],
    body: Buffer.from(COMPLETIONS_BODY),
  },
  "google-generative-ai": {
    path: "/v1beta/models/mock-model:streamGenerateContent?alt=sse",
    headers: ["Content-Type", "application/json", "X-Goog-Api-Key", "sk-harness-own-key"],
    body: Buffer.from(GENERATE_CONTENT_BODY),
  },
};

export const APIS = Object.keys(TURNS) as WireApi[];

/** Adds the length of its body, and the token to its headers. */
export function sized(request: RawRequest, token?: string): RawRequest {
  const headers: string[] = [];
  let isSized = false;
  for (let at = 0; at + 1 < request.headers.length; at += 2) {
    const name = request.headers[at] ?? "";
    const isLength = name.toLowerCase() === "content-length";
    isSized ||= isLength;
    headers.push(name, isLength ? String(request.body.length) : (request.headers[at + 1] ?? ""));
  }
  if (!isSized) headers.push("Content-Length", String(request.body.length));
  if (token !== undefined) headers.splice(2, 0, "X-Pagurus-Token", token);
  return { ...request, headers };
}

/** The head of an answer contains the port, the request only its host. */
export function atPort(request: RawRequest, port: number): RawRequest {
  const headers: string[] = ["Host", `127.0.0.1:${port}`];
  for (let at = 0; at + 1 < request.headers.length; at += 2)
    if (request.headers[at]?.toLowerCase() !== "host")
      headers.push(request.headers[at] ?? "", request.headers[at + 1] ?? "");
  return { ...request, headers };
}

const WRITERS: Readonly<Record<WireApi, (step: ReplyStep, context: ReplyContext) => Frame[]>> = {
  "openai-responses": openAiResponses,
  "anthropic-messages": anthropicMessages,
  "openai-completions": openAiCompletions,
  "google-generative-ai": google,
};

export const STEP: ReplyStep = {
  thinking: { text: "Forty metres: the ninth is long enough.", signature: "c2lnbmVk" },
  text: "The ninth: it is forty-four metres long. Éclairée 😀.",
  toolCalls: [
    { id: "call_c", name: "berths", arguments: { side: "north", number: 9 } },
    { id: "call_d", name: "tides", arguments: { day: "today" } },
  ],
  usage: { input: 420, output: 37 },
};

export function frameBytes({ event, data }: Frame): Buffer {
  return Buffer.from(`${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`);
}

/** The events of an answer, each as its bytes. */
export function eventsOf(api: WireApi, step: ReplyStep = STEP): Buffer[] {
  const { usage = null } = step;
  return WRITERS[api](step, { index: 3, model: "mock-model", usage: usage ?? null }).map(frameBytes);
}

export const ENCODINGS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => gzipSync(bytes),
  br: (bytes) => brotliCompressSync(bytes),
  zstd: (bytes) => zstdCompressSync(bytes),
};

/** A uniform share; numbers of `fc.double` are nearly all close to 0. */
export const share = fc.nat(10_000).map((part) => part / 10_000);

/** Places of cuts, as shares of the length. */
export const cuts = fc.array(share, { maxLength: 12 });

export function cutAt(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [0, ...at.map((cut) => Math.floor(cut * bytes.length)), bytes.length].toSorted(
    (a, b) => a - b,
  );
  return places
    .slice(1)
    .map((end, index) => bytes.subarray(places[index], end))
    .filter(({ length }) => length > 0);
}
