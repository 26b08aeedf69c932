import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ToolSpec } from "../../packages/contract/src/harness/tool.ts";
import { unsupportedShape } from "../../packages/core/src/model/answer-shape.ts";
import type { AnswerShape } from "../../packages/core/src/model/provider-types.ts";
import type { Protocol } from "../servers/server.ts";
import { API, PROTOCOLS, withServer } from "./calling.ts";

const READ: ToolSpec = {
  name: "read",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

/** The members of the request with which a protocol sends a shape. */
async function sent(protocol: Protocol, shape: AnswerShape): Promise<Record<string, unknown>> {
  let body: Record<string, unknown> = {};
  const provider = { model: { id: protocol === "anthropic-messages" ? "claude-opus-4-6" : "m-1" } };
  await withServer(
    protocol,
    [{ text: "{}" }],
    async ({ server, call }) => {
      await call({ messages: [{ role: "user", content: "Hello." }], tools: [READ], ...shape });
      body = server.requests[0]?.body ?? {};
    },
    provider,
  );
  return body;
}

type Expected = Record<Protocol, (body: Record<string, unknown>) => unknown>;

const CHOICE: Expected = {
  "openai-completions": (body) => body["tool_choice"],
  "openai-responses": (body) => body["tool_choice"],
  "anthropic-messages": (body) => body["tool_choice"],
  google: (body) => (body["toolConfig"] as Record<string, unknown>)["functionCallingConfig"],
};

describe("the shape of an answer", () => {
  const named: Record<Protocol, unknown> = {
    "openai-completions": { type: "function", function: { name: "read" } },
    "openai-responses": { type: "function", name: "read" },
    "anthropic-messages": { type: "tool", name: "read" },
    google: { mode: "ANY", allowedFunctionNames: ["read"] },
  };
  const required: Record<Protocol, unknown> = {
    "openai-completions": "required",
    "openai-responses": "required",
    "anthropic-messages": { type: "any" },
    google: { mode: "ANY" },
  };
  const format: Expected = {
    "openai-completions": (body) =>
      ((body["response_format"] as Record<string, unknown>)["json_schema"] as Record<string, unknown>)[
        "schema"
      ],
    "openai-responses": (body) =>
      ((body["text"] as Record<string, unknown>)["format"] as Record<string, unknown>)["schema"],
    "anthropic-messages": (body) =>
      ((body["output_config"] as Record<string, unknown>)["format"] as Record<string, unknown>)["schema"],
    google: (body) => (body["generationConfig"] as Record<string, unknown>)["responseJsonSchema"],
  };
  const stops: Partial<Expected> = {
    "openai-completions": (body) => body["stop"],
    "anthropic-messages": (body) => body["stop_sequences"],
    google: (body) => (body["generationConfig"] as Record<string, unknown>)["stopSequences"],
  };

  for (const protocol of PROTOCOLS) {
    it(`is sent in the fields of ${protocol}`, async () => {
      assert.deepEqual(
        CHOICE[protocol](await sent(protocol, { toolChoice: { name: "read" } })),
        named[protocol],
      );
      assert.deepEqual(
        CHOICE[protocol](await sent(protocol, { toolChoice: "required" })),
        required[protocol],
      );
      const schema = format[protocol](
        await sent(protocol, { responseFormat: { schema: SCHEMA, name: "c" } }),
      );
      assert.deepEqual((schema as typeof SCHEMA).required, ["city"]);
      const stop = await sent(protocol, { stop: ["END"] });
      const readStop = stops[protocol];
      if (readStop) assert.deepEqual(readStop(stop), ["END"]);
      else assert.ok(unsupportedShape(API[protocol], { stop: ["END"] }));
    });
  }

  it("has the number of calls and the verbosity where the protocol has them", async () => {
    const shape: AnswerShape = { parallelToolCalls: false, verbosity: "low" };
    const chat = await sent("openai-completions", shape);
    assert.deepEqual([chat["parallel_tool_calls"], chat["verbosity"]], [false, "low"]);
    const responses = await sent("openai-responses", shape);
    assert.equal(responses["parallel_tool_calls"], false);
    assert.equal((responses["text"] as Record<string, unknown>)["verbosity"], "low");
    const messages = await sent("anthropic-messages", { parallelToolCalls: false });
    assert.equal((messages["tool_choice"] as Record<string, unknown>)["disable_parallel_tool_use"], true);
    assert.match(unsupportedShape("anthropic-messages", shape) ?? "", /verbosity/);
  });

  it("has a finer effort than the levels of thinking", async () => {
    const chat = await sent("openai-completions", { reasoningEffort: "minimal" });
    assert.equal(chat["reasoning_effort"], "minimal");
    const responses = await sent("openai-responses", { reasoningEffort: "xhigh" });
    assert.equal((responses["reasoning"] as Record<string, unknown>)["effort"], "xhigh");
  });
});
