/** Our writers send what the packages of the AI SDK would send, for any conversation, model and options. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AgentMessage, AssistantMessage } from "../../packages/contract/src/message.ts";
import type { ModelApi } from "../../packages/contract/src/model.ts";
import { modelCall, postedRequest } from "../../packages/core/src/model/model-call.ts";
import type { ModelRequest, ResolvedModel } from "../../packages/core/src/model/provider-types.ts";
import { resolveModel } from "../../packages/core/src/model/resolve.ts";
import { filePart } from "../../packages/core/src/protocols/files.ts";
import { runs } from "../runner/short-form.ts";
import { requestOf } from "./calling.ts";
import { sdkRequest } from "./sdk-request.ts";

type Api = Exclude<ModelApi, "offline">;

/** Models whose requests differ. */
const IDS: Record<Api, readonly string[]> = {
  "anthropic-messages": [
    ..."m-1 minimax-m2 claude-new-9 claude-3-haiku-20240307 claude-opus-4-20250514 claude-sonnet-4-20250514".split(
      " ",
    ),
    ..."opus-4-1-20250805 sonnet-4-5 haiku-4-5 opus-4-6 sonnet-4-6 opus-4-7 opus-4-8 opus-5 sonnet-5 fable-5 fable-5-1"
      .split(" ")
      .map((name) => `claude-${name}`),
    ..."opus-5-5 sonnet-5-5 haiku-5-5".split(" ").map((name) => `claude-${name}`),
  ],
  "openai-responses":
    "m-1 gpt-4.1 gpt-5 gpt-5-chat-latest gpt-5.1 gpt-5.2-pro gpt-5.4 gpt-5.6-sol gpt-6-sol gpt-6.1-sol o3".split(
      " ",
    ),
  "openai-completions": "m-1 gpt-4.1 gpt-5 gpt-5-chat-latest gpt-5.5 gpt-5.6-sol gpt-6-sol o3".split(" "),
  "google-generative-ai":
    "m-1 gemini-pro gemini-2.5-pro gemini-2.5-flash gemini-3-pro-preview gemini-3.5-flash-lite gemini-3.7-flash gemini-4-hydrogen gemini-3-pro-image-preview gemma-3-27b-it tunedModels/gemini-x".split(
      " ",
    ),
};

const text = fc.constantFrom("hello", "  spaced  ", "", "two\nlines", "𝄞 😀", '"quoted"');
const image = fc.record({
  type: fc.constant("image" as const),
  data: fc.constantFrom("iVBORw0KGgo=", "/9j/4AAQ"),
  mimeType: fc.constantFrom("image/png", "image/jpeg"),
});
/** Files of clients, which each protocol has a form for, but for sounds. */
const named = fc
  .constantFrom("application/pdf", "audio/wav", "audio/mpeg")
  .map((mimeType) => filePart({ data: "JVBERi0=", mimeType, name: "a.pdf" }));
const textPart = fc.record({ type: fc.constant("text" as const), text });
const user = fc.oneof(
  text.map((content): AgentMessage => ({ role: "user", content })),
  fc
    .array(fc.oneof(textPart, image, named), { maxLength: 3 })
    .map((content): AgentMessage => ({ role: "user", content })),
  fc.constant<AgentMessage>({
    role: "user",
    content: "A rule.",
    fragment: { key: "k", kind: "application" },
  }),
);
const signed = fc.oneof(
  fc.constantFrom("SIGNATURE", undefined),
  fc
    .record({ id: fc.constantFrom("rs_1", "rs_2"), encrypted: fc.constantFrom("E", undefined) })
    .map((item) => JSON.stringify(item)),
);
const args = fc.constantFrom({}, { path: "a" }, { __invalid_json: "{" }, { deep: { list: [1, null, "x"] } });
const answerPart = fc.oneof(
  textPart,
  fc
    .record({ thinking: text, signature: signed, redacted: fc.boolean() })
    .map(({ thinking, signature, redacted }) => ({
      type: "thinking" as const,
      thinking,
      ...(signature === undefined ? {} : { signature }),
      ...(redacted && signature !== undefined ? { redacted } : {}),
    })),
  fc
    .record({ id: fc.constantFrom("call_", "weird/ id "), args, signature: fc.constantFrom("C", undefined) })
    .map(({ id, args: given, signature }) => ({
      type: "toolCall" as const,
      id,
      name: "read",
      arguments: given,
      ...(signature === undefined ? {} : { signature }),
    })),
);
const round = fc.record({
  own: fc.boolean(),
  content: fc.array(answerPart, { maxLength: 5 }),
  results: fc.array(fc.oneof(textPart, image), { maxLength: 3 }),
  isError: fc.boolean(),
});
const turns = fc.array(fc.record({ user, rounds: fc.array(round, { maxLength: 2 }) }), {
  minLength: 1,
  maxLength: 3,
});
type Turns = typeof turns extends fc.Arbitrary<infer T> ? T : never;

/** The messages, with an id of its own for each call, and the result of each. */
function messagesOf(given: Turns, { info }: ResolvedModel): AgentMessage[] {
  let calls = 0;
  return given.flatMap(({ user: input, rounds }) => [
    input,
    ...rounds.flatMap(({ own, content, results, isError }): AgentMessage[] => {
      const parts = content.map((part) =>
        part.type === "toolCall" ? { ...part, id: `${part.id}${calls++}` } : part,
      );
      const answer: AssistantMessage = {
        role: "assistant",
        provider: own ? info.provider : "other",
        model: info.id,
        content: parts,
      };
      const answered = parts.flatMap((part): AgentMessage[] =>
        part.type === "toolCall"
          ? [{ role: "toolResult", toolCallId: part.id, toolName: "read", content: results, isError }]
          : [],
      );
      return [answer, ...answered];
    }),
  ]);
}

const PATTERN = { type: "string", pattern: "^a(?=b)" };
const TOOL = {
  name: "read",
  description: "Reads a file.",
  parameters: {
    type: "object",
    properties: { path: PATTERN, of: { allOf: [{ $ref: "#/$defs/Of" }] } },
    propertyNames: { type: "string" },
    $defs: { Of: { type: "array", items: [PATTERN, { type: "string", pattern: "[(?=]" }] } },
  },
};

const request = fc.record({
  system: fc.constantFrom("Be brief.", ""),
  tools: fc.constantFrom([], [TOOL], [TOOL, { ...TOOL, name: "write" }]),
  stableCount: fc.nat(12),
  maxOutputTokens: fc.constantFrom(undefined, 100, 200_000),
  thinking: fc.constantFrom(undefined, "off" as const, "low" as const, "medium" as const, "high" as const),
  cacheKey: fc.constantFrom(undefined, "session-1"),
});

function modelOf(api: Api, provider: string, id: string, reasoning: boolean): ResolvedModel {
  const entry = { id, reasoning, input: ["text" as const, "image" as const] };
  const config = { api, baseUrl: "http://127.0.0.1:1/v1", apiKey: "key", models: [entry] };
  return resolveModel(`${provider}/${id}`, { models: { providers: { [provider]: config } } }, {});
}

async function assertSame(model: ResolvedModel, given: ModelRequest): Promise<void> {
  const call = modelCall(model, given);
  const own = postedRequest(model, await call.quirks.loadProtocol(), call);
  const theirs = await sdkRequest(model, given);
  assert.equal(own.url, theirs.url);
  assert.deepEqual(JSON.parse(own.body), theirs.body);
  // As bytes too, for the provider's cache of prompts.
  assert.equal(own.body, JSON.stringify(theirs.body));
  for (const name of ["authorization", "x-api-key", "x-goog-api-key", "anthropic-version", "content-type"])
    assert.equal(own.headers[name], theirs.headers.get(name) ?? undefined, name);
}

/** Without members that have no value, as callers send it. */
function definedOf(fields: Record<string, unknown>): Partial<ModelRequest> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

async function same(api: Api, provider: string, ids: readonly string[]): Promise<void> {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...ids),
      fc.boolean(),
      turns,
      request,
      async (id, reasoning, given, options) => {
        const model = modelOf(api, provider, id, reasoning);
        const messages = messagesOf(given, model);
        await assertSame(model, requestOf({ ...definedOf(options), messages }));
      },
    ),
    { numRuns: runs(600), seed: 41 },
  );
}

describe("a written request is that of the AI SDK's package", () => {
  for (const [api, ids] of Object.entries(IDS) as [Api, readonly string[]][])
    it(`in ${api}, for any conversation and options`, () => same(api, "local", ids));

  it("for OpenAI in the Chat Completions API", () =>
    same("openai-completions", "openai", IDS["openai-completions"]));

  it("for Gemini 3 and later: unsigned calls, and images of results", () =>
    same("google-generative-ai", "local", ["gemini-3-pro-preview", "gemini-4-argon"]));

  it("for Gemma, whose system text is in the first message", () =>
    same("google-generative-ai", "local", ["gemma-3-27b-it"]));
});

it("half surrogate pairs become U+FFFD in every string of a request", async () => {
  const half = "a\ud83d";
  for (const api of Object.keys(IDS) as Api[]) {
    const model = modelOf(api, "local", "m-1", false);
    const content = [{ type: "toolCall" as const, id: "c", name: "read", arguments: { [half]: [half] } }];
    const messages: AgentMessage[] = [
      { role: "user", content: `${half} \\ud83d 😀` },
      { role: "assistant", content },
      {
        role: "toolResult",
        toolCallId: "c",
        toolName: "read",
        content: [{ type: "text", text: half }],
        isError: false,
      },
    ];
    const call = modelCall(model, requestOf({ system: half, messages }));
    const { body } = postedRequest(model, await call.quirks.loadProtocol(), call);
    assert.doesNotMatch(body.replaceAll("\\\\ud83d", ""), /\\ud83d/);
    assert.match(body, /a\ufffd \\\\ud83d 😀/);
  }
});
