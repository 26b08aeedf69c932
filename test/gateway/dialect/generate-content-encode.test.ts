/** Messages as elements of a generateContent request, and rules of the engine in its system instruction. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type {
  AgentMessage,
  ToolCallPart,
  ToolResultMessage,
} from "../../../packages/contract/src/message.ts";
import { generateContentDialect as dialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import type { EncodeOptions, WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { runs } from "../../runner/short-form.ts";

type Json = Record<string, unknown>;
interface Element {
  role: string;
  parts: Json[];
}

const CONTENTS = [{ role: "user", parts: [{ text: "x" }] }];
const SIGNATURE = "skip_thought_signature_validator";

function read(body: Json, model = "gemini-3-pro"): WireRequest {
  const path = `/v1beta/models/${model}:streamGenerateContent?alt=sse`;
  return dialect.read(path, {}, Buffer.from(JSON.stringify(body)));
}

function encoded(
  messages: readonly AgentMessage[],
  more: { addition?: string; request?: WireRequest } & Partial<EncodeOptions> = {},
): Element[] {
  const { addition, request = read({ contents: CONTENTS }), ...options } = more;
  const bytes = dialect.encode(messages, addition, { request, mayMark: true, ...options });
  return JSON.parse(`[${bytes.toString()}]`) as Element[];
}

function call(id: string, name = "look"): ToolCallPart {
  return { type: "toolCall", id, name, arguments: { at: id } };
}

function result(toolCallId: string, text = `result of ${toolCallId}`, toolName = "look"): ToolResultMessage {
  return { role: "toolResult", toolCallId, toolName, content: [{ type: "text", text }], isError: false };
}

function user(text: string): AgentMessage {
  return { role: "user", content: [{ type: "text", text }] };
}

function answer(...content: Extract<AgentMessage, { role: "assistant" }>["content"]): AgentMessage {
  return { role: "assistant", content };
}

const text = (words: string) => ({ type: "text" as const, text: words });
const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };

function withoutSignatures(messages: readonly AgentMessage[]): AgentMessage[] {
  return messages.map((message) =>
    message.role === "assistant"
      ? {
          ...message,
          content: message.content.map((part) => {
            if (part.type !== "toolCall") return part;
            const { signature: _signature, ...rest } = part;
            return rest;
          }),
        }
      : message,
  );
}

describe("messages as elements of a generateContent request", () => {
  it("are unchanged when they are read back", () => {
    const messages: AgentMessage[] = [
      user("Where?"),
      answer(text("I look twice."), call("a"), call("b", "hear")),
      result("a"),
      { ...result("b", "nothing", "hear"), isError: true },
      { role: "user", content: [text("And this?"), image] },
      answer(text("A crab.")),
      user("So?"),
      answer(call("c")),
      { ...result("c"), content: [text("seen"), image] },
    ];
    for (const model of ["gemini-3-pro", "gemini-2.5-flash"]) {
      const request = read({ contents: encoded(messages, { request: read({ contents: CONTENTS }, model) }) });
      assert.deepEqual(withoutSignatures(request.items.flatMap((item) => item.messages)), messages, model);
    }
  });

  it("contain neither thinking nor empty texts and answers", () => {
    const thinking = { type: "thinking" as const, thinking: "Hm.", signature: "s" };
    assert.deepEqual(encoded([answer(thinking), user(""), user("x"), answer(thinking, text("Yes."))]), [
      { role: "user", parts: [{ text: "x" }] },
      { role: "model", parts: [{ text: "Yes." }] },
    ]);
  });

  it("have the documented signature on the first call of each answer, if the model may check it", () => {
    const messages = [user("x"), answer(call("a"), call("b")), result("a"), result("b"), answer(call("c"))];
    const signed = (model: string): unknown[] =>
      encoded([...messages, result("c")], { request: read({ contents: CONTENTS }, model) }).flatMap(
        ({ parts }) => parts.flatMap((part) => (part["functionCall"] ? [part["thoughtSignature"]] : [])),
      );
    for (const model of ["gemini-3-pro", "gemini-3.8-flash", "gemini-flash-latest", "another"])
      assert.deepEqual(signed(model), [SIGNATURE, undefined, SIGNATURE], model);
    for (const model of ["gemini-2.5-pro", "gemini-1.5-flash", "gemma-3-27b-it"])
      assert.deepEqual(signed(model), [undefined, undefined, undefined], model);
  });

  it("have a result's images in it for new models, and next to it for older ones", () => {
    const messages = [user("x"), answer(call("a")), { ...result("a"), content: [text("seen"), image] }];
    const parts = (model: string): Json[] =>
      encoded(messages, { request: read({ contents: CONTENTS }, model) })[2]?.parts ?? [];
    const data = { inlineData: { mimeType: "image/png", data: "AAAA" } };
    const response = { id: "a", name: "look", response: { output: "seen" } };
    assert.deepEqual(parts("gemini-3-pro"), [{ functionResponse: { ...response, parts: [data] } }]);
    assert.deepEqual(parts("gemini-2.5-pro"), [{ functionResponse: response }, data]);
  });

  it("begin with the user, except after the harness's own elements", () => {
    const [first, second] = encoded([answer(text("Yes."))]);
    assert.deepEqual([first?.role, second?.role], ["user", "model"]);
    assert.equal(encoded([answer(text("Yes."))], { isContinued: true })[0]?.role, "model");
  });

  it("merge answers without a result between them: a content with calls follows the user's", () => {
    const elements = encoded([user("x"), answer(text("I look.")), answer(call("a")), result("a")]);
    assert.deepEqual(
      elements.map(({ role, parts }) => [role, parts.length]),
      [
        ["user", 1],
        ["model", 2],
        ["user", 1],
      ],
    );
  });

  it("leave a pair open if its other half is in the harness's own elements", () => {
    const open = encoded([user("x"), answer(call("a"))]);
    assert.deepEqual(
      open.map(({ role }) => role),
      ["user", "model"],
    );
  });

  it("name a result as the harness's own call before it does, and with no id if that call has none", () => {
    const own = (id?: string): WireRequest =>
      read({
        contents: [
          ...CONTENTS,
          { role: "model", parts: [{ functionCall: { ...(id ? { id } : {}), name: "look", args: {} } }] },
          { role: "user", parts: [{ functionResponse: { id: "look_1", name: "look", response: {} } }] },
        ],
      });
    for (const id of ["call_a", undefined]) {
      const request = own(id);
      const message = request.items[2]?.messages[0];
      assert.ok(message?.role === "toolResult");
      const [element] = encoded([{ ...message, content: [text("cut")] }, user("y")], {
        request,
        isContinued: true,
      });
      const expected = { ...(id ? { id } : {}), name: "look", response: { output: "cut" } };
      assert.deepEqual(element, { role: "user", parts: [{ functionResponse: expected }] });
    }
  });

  it("use the name under which the program offers a tool of the host", () => {
    const tools = [{ functionDeclarations: [{ name: "mcp_pagurus_recall" }, { name: "look" }] }];
    const request = read({ contents: CONTENTS, tools });
    const elements = encoded([user("x"), answer(call("a", "recall")), result("a", "all", "recall")], {
      request,
    });
    assert.match(JSON.stringify(elements[1]), /"name":"mcp_pagurus_recall"/);
    assert.match(JSON.stringify(elements[2]), /"name":"mcp_pagurus_recall"/);
  });

  it("are always in an order that the API allows, with equal bytes for equal messages", () => {
    const id = fc.constantFrom("a", "b", "c", "d");
    const message: fc.Arbitrary<AgentMessage> = fc.oneof(
      fc.constantFrom<AgentMessage>({ role: "user", content: "u" }, { role: "user", content: [] }),
      fc
        .tuple(fc.string({ maxLength: 3 }), fc.uniqueArray(id, { maxLength: 3 }))
        .map(([words, ids]) => answer(text(words), ...ids.map((each) => call(each)))),
      id.map((each) => result(each)),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        // At the start of a request, and with an end: no element of the harness completes a pair.
        const all: AgentMessage[] = [user("first"), ...messages, user("last")];
        const elements = encoded(all);
        assert.deepEqual(encoded(all), elements);
        let open: unknown[] = [];
        let last = "user";
        for (const { role, parts } of elements) {
          const calls = parts.flatMap((part) =>
            part["functionCall"] ? [(part["functionCall"] as Json)["id"]] : [],
          );
          const results = parts.flatMap((part) =>
            part["functionResponse"] ? [(part["functionResponse"] as Json)["id"]] : [],
          );
          assert.ok(parts.length > 0);
          assert.deepEqual(results, open, JSON.stringify(elements));
          if (role === "model") assert.equal(last, "user", "no answer follows another");
          else assert.deepEqual(calls, []);
          open = calls;
          last = role;
        }
        assert.deepEqual(open, []);
      }),
      { numRuns: runs(1_000), seed: 8 },
    );
  });
});

describe("rules of the engine in a generateContent request", () => {
  const inserted = (body: string): Json | undefined => {
    const request = dialect.read("/v1beta/models/m:generateContent", {}, Buffer.from(body));
    const rules = dialect.rules?.(request, 'Know "this".');
    if (!rules) return undefined;
    const { at, bytes } = rules;
    return JSON.parse(
      Buffer.concat([request.body.subarray(0, at), bytes, request.body.subarray(at)]).toString(),
    ) as Json;
  };
  const contents = JSON.stringify(CONTENTS);

  it("are a part of the system instruction, after the harness's own, before or after the contents", () => {
    for (const body of [
      `{"systemInstruction": {"role":"user", "parts":[ {"text":"Be brief."} ]},"contents":${contents}}`,
      `{"contents":${contents},"systemInstruction":{"parts":[{"text":"Be brief."}],"role":"user"}}`,
    ]) {
      const { systemInstruction: rules } = inserted(body) as { systemInstruction: Element };
      assert.deepEqual(rules.parts, [{ text: "Be brief." }, { text: 'Know "this".' }]);
    }
    const empty = inserted(`{"contents":${contents},"systemInstruction":{"parts":[]}}`);
    assert.deepEqual(empty?.["systemInstruction"], { parts: [{ text: 'Know "this".' }] });
  });

  it("have no place without an instruction, and are then encoded before the messages", () => {
    for (const more of ["", ',"systemInstruction":{}', ',"systemInstruction":{"parts":{"text":"Be brief."}}'])
      assert.equal(inserted(`{"contents":${contents}${more}}`), undefined);
    const [rules, first] = encoded([user("y")], { addition: "Know this." });
    assert.deepEqual(rules, {
      role: "user",
      parts: [{ text: "<instructions>\nKnow this.\n</instructions>" }],
    });
    assert.deepEqual(first?.parts, [{ text: "y" }]);
  });
});
