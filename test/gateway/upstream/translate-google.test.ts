/** Members of a generateContent request that only this protocol has, as a model of another protocol gets them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { generateContentDialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import type { Asked } from "../../../packages/gateway/src/upstream/translate/asked.ts";
import { readAsked } from "../../../packages/gateway/src/upstream/translate/translate-request.ts";
import { recorded } from "../dialect/generate-content-recorded.ts";

type Json = Record<string, unknown>;

function askedOf(more: Json): Asked {
  const body = Buffer.from(JSON.stringify({ contents: [{ role: "user", parts: [{ text: "x" }] }], ...more }));
  return readAsked(generateContentDialect.read("/v1beta/models/m:generateContent", {}, body));
}

describe("a generateContent request for another model", () => {
  it("has the API's own kind of schema as JSON schema", () => {
    const parameters = {
      type: "OBJECT",
      properties: {
        type: { type: "STRING", enum: ["A", "B"] },
        nullable: { type: "INTEGER", nullable: true },
        all: { type: "ARRAY", items: { anyOf: [{ type: "NUMBER" }, { type: "BOOLEAN" }] } },
      },
      required: ["type"],
    };
    const [tool] = askedOf({ tools: [{ functionDeclarations: [{ name: "look", parameters }] }] }).tools;
    assert.deepEqual(tool?.spec.parameters, {
      type: "object",
      properties: {
        type: { type: "string", enum: ["A", "B"] },
        nullable: { type: ["integer", "null"] },
        all: { type: "array", items: { anyOf: [{ type: "number" }, { type: "boolean" }] } },
      },
      required: ["type"],
    });
  });

  it("has the functions that may be called", () => {
    const tools = [{ functionDeclarations: [{ name: "look" }, { name: "hear" }] }];
    const namesOf = (config: Json): unknown[] => {
      const { tools: all, shape } = askedOf({ tools, toolConfig: { functionCallingConfig: config } });
      return [...all.map(({ name }) => name), shape.toolChoice];
    };
    assert.deepEqual(namesOf({ mode: "AUTO" }), ["look", "hear", undefined]);
    assert.deepEqual(namesOf({ mode: "NONE" }), ["look", "hear", "none"]);
    assert.deepEqual(namesOf({ mode: "ANY", allowedFunctionNames: ["hear"] }), ["hear", "required"]);
  });

  it("has the thinking that a budget or a level means", () => {
    const levelOf = (thinkingConfig: Json): unknown =>
      askedOf({ generationConfig: { thinkingConfig } }).thinking;
    assert.deepEqual(
      [0, 1_000, 8_000, 24_000, -1].map((thinkingBudget) => levelOf({ thinkingBudget })),
      ["off", "low", "medium", "high", undefined],
    );
    assert.deepEqual(
      [levelOf({ thinkingLevel: "HIGH" }), levelOf({ thinkingLevel: "MINIMAL" })],
      ["high", "low"],
    );
  });

  it("asks in words for a required output format", () => {
    const schema = { type: "object", properties: { model: { type: "string" } } };
    const config = { responseMimeType: "application/json", responseJsonSchema: schema };
    const systemInstruction = { parts: [{ text: "Be brief." }] };
    const { system } = askedOf({ systemInstruction, generationConfig: config });
    assert.equal(
      system,
      `Be brief.\n\nAnswer with one JSON value and no other text. It is valid for this JSON schema:\n${JSON.stringify(schema)}`,
    );
    assert.equal(askedOf({ systemInstruction }).system, "Be brief.");
  });

  it("of Gemini CLI has its surroundings and its summary as messages", () => {
    const { path, headers, body } = recorded("after-compact");
    const { messages, historyCount } = readAsked(generateContentDialect.read(path, headers, body));
    assert.deepEqual(
      messages.slice(0, 5).map(({ role }) => role),
      ["user", "assistant", "user", "assistant", "user"],
    );
    assert.equal(historyCount, 4);
    assert.match(JSON.stringify(messages[0]), /session_context.*state_snapshot/);
  });
});
