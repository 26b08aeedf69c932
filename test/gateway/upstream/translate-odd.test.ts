/** Requests with parts of unexpected types: a model can be called, or the request is refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { WireApi } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { JsonScanError } from "../../../packages/gateway/src/json/scan.ts";
import {
  readAsked,
  modelRequest,
} from "../../../packages/gateway/src/upstream/translate/translate-request.ts";
import { modelCall } from "../../../packages/core/src/model/model-call.ts";
import type { ModelRequest } from "../../../packages/core/src/model/provider-types.ts";
import { isValidSequence } from "../../../packages/core/src/compaction/tool-pairing.ts";
import { modelAt } from "../../model/calling.ts";
import { APIS, DIALECTS, type Body } from "./translating.ts";
import { runs } from "../../runner/short-form.ts";

const MODELS = (["openai-completions", "openai-responses", "anthropic-messages"] as const).map((protocol) =>
  modelAt("http://127.0.0.1:1", protocol),
);

const word = fc.constantFrom("a", "b", "c");
const odd = fc.oneof(
  { weight: 5, arbitrary: word },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 7, true, [], {}, [1], ["x"], [null]) },
);
const role = fc.constantFrom(
  "user",
  "assistant",
  "system",
  "developer",
  "tool",
  "model",
  "function",
  "other",
);

function record(shape: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Body> {
  return fc.record(shape, { requiredKeys: [] });
}

const parts = fc.oneof(
  odd,
  fc.array(
    record({
      type: fc.constantFrom(
        "text",
        "input_text",
        "output_text",
        "tool_use",
        "tool_result",
        "image",
        "image_url",
        "document",
        "thinking",
      ),
      text: odd,
      id: word,
      name: odd,
      input: odd,
      tool_use_id: word,
      content: odd,
      source: odd,
      image_url: odd,
    }),
    { maxLength: 3 },
  ),
);
const tools = fc.oneof(
  odd,
  fc.array(
    record({
      type: fc.constantFrom("function", "custom", "namespace", "local_shell", "tool_search", "web_search"),
      name: odd,
      function: odd,
      parameters: odd,
      input_schema: odd,
      tools: odd,
      functionDeclarations: fc.oneof(odd, fc.array(record({ name: odd, parameters: odd }), { maxLength: 2 })),
      format: odd,
      execution: odd,
    }),
    { maxLength: 3 },
  ),
);
const types = fc.constantFrom(
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "local_shell_call",
  "reasoning",
  "tool_search_output",
  "additional_tools",
  "compaction",
  "compaction_trigger",
);
const googleParts = fc.oneof(
  odd,
  fc.array(
    record({
      text: odd,
      thought: odd,
      thoughtSignature: odd,
      functionCall: fc.oneof(odd, record({ id: odd, name: odd, args: odd })),
      functionResponse: fc.oneof(odd, record({ id: odd, name: odd, response: odd, parts: odd })),
      inlineData: fc.oneof(odd, record({ mimeType: odd, data: odd })),
      fileData: odd,
      executableCode: odd,
    }),
    { maxLength: 3 },
  ),
);
const element = record({
  parts: googleParts,
  type: types,
  role,
  content: parts,
  tool_calls: fc.oneof(odd, fc.array(record({ id: word, type: odd, function: odd }), { maxLength: 2 })),
  tool_call_id: word,
  call_id: word,
  name: odd,
  namespace: odd,
  arguments: odd,
  input: odd,
  action: odd,
  output: parts,
  tools,
  encrypted_content: odd,
});

const body = record({
  model: odd,
  tools,
  tool_choice: odd,
  system: parts,
  instructions: odd,
  reasoning: odd,
  thinking: odd,
  output_config: odd,
  max_tokens: odd,
  max_output_tokens: odd,
  prompt_cache_key: odd,
  stream: odd,
  systemInstruction: fc.oneof(odd, record({ parts: googleParts })),
  generationConfig: fc.oneof(odd, record({ thinkingConfig: odd, maxOutputTokens: odd })),
  toolConfig: fc.oneof(odd, record({ functionCallingConfig: odd })),
});

const LISTS: Partial<Record<WireApi, string>> = {
  "openai-responses": "input",
  "google-generative-ai": "contents",
};

function asked(api: WireApi, bytes: Buffer): ModelRequest | undefined {
  const { dialect, path } = DIALECTS[api];
  try {
    const request = dialect.read(path, {}, bytes);
    const { info } = MODELS[0] ?? assert.fail();
    return modelRequest(readAsked(request), info, new AbortController().signal, undefined);
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

describe("an odd request", () => {
  for (const api of APIS) {
    it(`of ${api} can be sent to a model, or is not read at all`, () => {
      let read = 0;
      fc.assert(
        fc.property(body, fc.array(element, { maxLength: 8 }), (rest, list) => {
          const name = LISTS[api] ?? "messages";
          const listed = { [name]: list };
          const request = asked(api, Buffer.from(JSON.stringify({ ...rest, ...listed })));
          if (!request) return;
          read += 1;
          assert.equal(isValidSequence(request.messages), undefined);
          const names = request.tools.map(({ name }) => name);
          assert.equal(new Set(names).size, names.length);
          for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
          for (const model of MODELS) modelCall(model, request);
        }),
        { numRuns: runs(1_500), seed: 8 },
      );
      assert.ok(read > (runs(1_500) * 2) / 3, `${read} were read`);
    });
  }
});
