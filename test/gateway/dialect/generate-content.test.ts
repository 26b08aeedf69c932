/** Requests of Google's generateContent API: their structure and their content. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AgentMessage, ToolCallPart } from "../../../packages/contract/src/message.ts";
import { generateContentDialect as dialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { JsonScanError } from "../../../packages/gateway/src/json/scan.ts";
import { runs } from "../../runner/short-form.ts";

type Json = Record<string, unknown>;

const STREAM = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse";

function read(body: unknown, path = STREAM): WireRequest {
  return dialect.read(path, {}, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
}

function user(...texts: string[]): Json {
  return { role: "user", parts: texts.map((text) => ({ text })) };
}

function called(...calls: Json[]): Json {
  return { role: "model", parts: calls.map((functionCall) => ({ functionCall })) };
}

function answered(...results: Json[]): Json {
  return { role: "user", parts: results.map((functionResponse) => ({ functionResponse })) };
}

function messagesOf(contents: readonly Json[]): AgentMessage[] {
  return read({ contents }).items.flatMap(({ messages }) => messages);
}

function callsOf(messages: readonly AgentMessage[]): ToolCallPart[] {
  return messages.flatMap((message) =>
    message.role === "assistant" ? message.content.filter((part) => part.type === "toolCall") : [],
  );
}

/** For each result the name of the tool and the number of its call, in the order of the calls. */
function pairsOf(messages: readonly AgentMessage[]): unknown[] {
  const ids = callsOf(messages).map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, "ids are distinct");
  return messages.flatMap((message) =>
    message.role === "toolResult" ? [[message.toolName, ids.indexOf(message.toolCallId)]] : [],
  );
}

const CONTENTS = [
  user("Where is the whelk?"),
  {
    role: "model",
    parts: [
      { text: "I look.", thought: true },
      { text: "Let me " },
      { text: "see." },
      { functionCall: { id: "c-1", name: "look", args: { at: "pier" } }, thoughtSignature: "c2ln" },
    ],
  },
  answered({ id: "c-1", name: "look", response: { output: "behind the pier" } }),
  { role: "model", parts: [{ text: "Behind the pier." }] },
  { role: "user", parts: [{ text: "And this?" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }] },
];

describe("a generateContent request", () => {
  it("is read into its history and the live turn; its path has the model and the form of the answer", () => {
    const request = read({ contents: CONTENTS, systemInstruction: { parts: [{ text: "Be brief." }] } });
    const { api, kind, model, stream, isListStream, prefixCount, liveFrom, native } = request;
    assert.deepEqual(
      [api, kind, model, stream, isListStream, prefixCount, liveFrom, native],
      ["google-generative-ai", "main", "gemini-3-pro", true, undefined, 0, 4, {}],
    );
    for (const [index, { start, end }] of request.items.entries())
      assert.deepEqual(JSON.parse(request.body.toString("utf8", start, end)), CONTENTS[index]);
    const { start, end } = request.list;
    assert.deepEqual(JSON.parse(request.body.toString("utf8", start, end)), CONTENTS);
  });

  it("has its method in the path, with any version or none", () => {
    const facts = (path: string): unknown[] => {
      const { kind, model, stream, isListStream } = read({ contents: CONTENTS }, path);
      return [kind, model, stream, isListStream];
    };
    assert.deepEqual(facts("/models/m:generateContent"), ["main", "m", false, undefined]);
    assert.deepEqual(facts("/v1alpha/models/m:generateContent?key=k"), ["main", "m", false, undefined]);
    assert.deepEqual(facts("/v1beta/models/m:streamGenerateContent"), ["main", "m", true, true]);
    assert.deepEqual(facts("/v1beta/models/m:streamGenerateContent?key=k&alt=sse"), [
      "main",
      "m",
      true,
      undefined,
    ]);
    assert.deepEqual(facts("/v1beta/models/m:countTokens"), ["count", "m", false, undefined]);
    assert.deepEqual(facts("/v1beta/tunedModels/m%201:generateContent")[1], "tunedModels/m 1");
    for (const path of [
      "/v1beta/models/m:embedContent",
      "/v1beta/models/m:batchGenerateContent",
      "/v1beta/models/m",
      "/v1beta/cachedContents",
      "/chat/completions",
    ])
      assert.equal(facts(path)[0], "unknown", path);
  });

  it("to count tokens may contain a whole request", () => {
    const body = { generateContentRequest: { model: "models/m", contents: CONTENTS } };
    const { kind, items } = read(body, "/v1beta/models/m:countTokens");
    assert.deepEqual([kind, items.length], ["count", CONTENTS.length]);
  });

  it("converts to our messages; text that streamed in parts is one text", () => {
    assert.deepEqual(messagesOf(CONTENTS), [
      { role: "user", content: [{ type: "text", text: "Where is the whelk?" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "I look." },
          { type: "text", text: "Let me see." },
          { type: "toolCall", id: "c-1", name: "look", arguments: { at: "pier" }, signature: "c2ln" },
        ],
      },
      {
        role: "toolResult",
        toolCallId: "c-1",
        toolName: "look",
        content: [{ type: "text", text: "behind the pier" }],
        isError: false,
      },
      { role: "assistant", content: [{ type: "text", text: "Behind the pier." }] },
      {
        role: "user",
        content: [
          { type: "text", text: "And this?" },
          { type: "image", data: "AAAA", mimeType: "image/png" },
        ],
      },
    ]);
  });

  it("may name its members with underscores, and have one part in place of a list", () => {
    const contents = [
      { parts: { text: "Where?" } },
      { role: "model", parts: [{ function_call: { name: "look", args: {} }, thought_signature: "c2ln" }] },
      { role: "function", parts: [{ function_response: { name: "look", response: { output: "here" } } }] },
      { role: "user", parts: [{ inline_data: { mime_type: "image/png", data: "AAAA" } }] },
    ];
    const messages = messagesOf(contents);
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant", "toolResult", "user"],
    );
    assert.deepEqual(pairsOf(messages), [["look", 0]]);
    assert.deepEqual(messages[3]?.content, [{ type: "image", data: "AAAA", mimeType: "image/png" }]);
    const system = read({ contents, system_instruction: { parts: [{ text: "Be brief." }] } });
    assert.match(dialect.rules?.(system, "Know this.")?.bytes.toString() ?? "", /Know this/);
  });

  it("has a note for parts without a counterpart, and none for code that the provider ran", () => {
    const contents = [
      {
        role: "user",
        parts: [
          { fileData: { mimeType: "video/mp4", fileUri: "https://example.com/a.mp4" } },
          { inlineData: { mimeType: "application/pdf", data: "AAAA" } },
        ],
      },
      {
        role: "model",
        parts: [
          { executableCode: { language: "PYTHON", code: "1+1" } },
          { codeExecutionResult: { outcome: "OUTCOME_OK", output: "2" } },
          { text: "2" },
        ],
      },
      user("So?"),
    ];
    const [notes, answer] = messagesOf(contents);
    assert.deepEqual(notes?.content, [
      { type: "text", text: "[video/mp4: https://example.com/a.mp4]" },
      { type: "text", text: "[application/pdf left out]" },
    ]);
    assert.deepEqual(answer?.content, [{ type: "text", text: "2" }]);
  });

  it("is unknown, and so untouched, if its structure is unusual", () => {
    const kindOf = (more: Json, contents: Json[] = [user("x")]): string => read({ contents, ...more }).kind;
    assert.equal(kindOf({}), "main");
    assert.equal(kindOf({ generationConfig: { candidateCount: 1 } }), "main");
    assert.equal(kindOf({ generationConfig: { candidateCount: 2 } }), "unknown");
    assert.equal(kindOf({ generationConfig: { responseModalities: ["TEXT", "IMAGE"] } }), "unknown");
    assert.equal(kindOf({ generationConfig: { responseMimeType: "application/json" } }), "unknown");
    assert.equal(kindOf({ generationConfig: { responseJsonSchema: { type: "object" } } }), "unknown");
    const calling = { functionCallingConfig: { streamFunctionCallArguments: true } };
    assert.equal(kindOf({ toolConfig: calling }), "unknown");
    assert.equal(kindOf({}, [user("x"), { role: "model", parts: [{ text: "y" }] }]), "unknown");
    assert.equal(kindOf({}, [user("x"), { role: "oracle", parts: [] }, user("y")]), "unknown");
    assert.equal(kindOf({}, []), "unknown");
  });

  it("causes a scan error if it has no list of objects", () => {
    for (const body of ["", "{", "[]", '{"a":1}', '{"contents":{}}', '{"contents":[1]}', '{"contents":[]} x'])
      assert.throws(() => read(body), JsonScanError, body);
  });
});

describe("the live turn of a generateContent request", () => {
  const call = called({ name: "look", args: {} });
  const result = answered({ name: "look", response: { output: "here" } });
  const liveFrom = (...contents: Json[]): number => read({ contents }).liveFrom;

  it("begins with the user's last content that has no results", () => {
    assert.equal(liveFrom(user("one"), call, result), 0);
    assert.equal(liveFrom(user("one"), call, result, user("two")), 3);
    assert.equal(liveFrom(user("one"), call, result, user("two"), call, result), 3);
  });

  it("does not begin with text or images next to results", () => {
    const steered = { role: "user", parts: [...(result["parts"] as Json[]), { text: "faster" }] };
    assert.equal(liveFrom(user("one"), call, steered), 0);
    const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };
    const shown = { role: "user", parts: [...(result["parts"] as Json[]), image] };
    assert.equal(liveFrom(user("one"), call, shown), 0);
    const [, , message] = messagesOf([user("one"), call, shown]);
    assert.deepEqual(message?.content, [
      { type: "text", text: "here" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ]);
  });
});

describe("the ids of function calls", () => {
  it("are those of the request if it has any, also for results in another order", () => {
    const messages = messagesOf([
      user("x"),
      called({ id: "a", name: "look", args: {} }, { id: "b", name: "look", args: {} }),
      answered({ id: "b", name: "look", response: {} }, { id: "a", name: "look", response: {} }),
    ]);
    assert.deepEqual(pairsOf(messages), [
      ["look", 1],
      ["look", 0],
    ]);
  });

  it("are derived without them; results belong to calls by name and order, whatever ids they have themselves", () => {
    const contents = [
      user("x"),
      called(
        { name: "look", args: { at: "pier" } },
        { name: "hear", args: {} },
        { name: "look", args: { at: "pier" } },
      ),
      answered(
        { id: "hear_1_0", name: "hear", response: { output: "h" } },
        { id: "look_1_1", name: "look", response: { output: "l1" } },
      ),
      answered({ id: "look_1_2", name: "look", response: { output: "l2" } }),
    ];
    const messages = messagesOf(contents);
    assert.deepEqual(pairsOf(messages), [
      ["hear", 1],
      ["look", 0],
      ["look", 2],
    ]);
    assert.deepEqual(messagesOf(contents), messages, "the same request has the same ids");
  });

  it("do not depend on older turns, nor on the order of arguments, signatures and thoughts", () => {
    const call = { name: "look", args: { at: "pier", far: { a: 1, b: 2 } } };
    const other = { name: "look", args: { far: { b: 2, a: 1 }, at: "pier" } };
    const [first] = callsOf(messagesOf([user("z"), called(call)]));
    const signed = {
      role: "model",
      parts: [
        { text: "Hm.", thought: true },
        { functionCall: other, thoughtSignature: "c2ln" },
      ],
    };
    const later = callsOf(messagesOf([user("y"), called(call), user("z"), signed]));
    assert.equal(first?.id, later[1]?.id);
    assert.match(first?.id ?? "", /^call_[0-9a-f]{24}$/);
  });

  it("of equal calls differ between turns, answers and places", () => {
    const call = { name: "look", args: {} };
    const result = answered({ name: "look", response: { output: "here" } });
    const twice = answered({ name: "look", response: {} }, { name: "look", response: {} });
    const contents = [
      user("one"),
      called(call),
      result,
      called(call),
      result,
      user("two"),
      called(call, call),
      twice,
    ];
    const messages = messagesOf(contents);
    assert.deepEqual(pairsOf(messages), [
      ["look", 0],
      ["look", 1],
      ["look", 2],
      ["look", 3],
    ]);
  });

  it("are those of the answer as it passed, in each later request, however a client stores the answer", () => {
    const part = fc.oneof(
      fc.constantFrom<Json>({ text: "Hm.", thought: true }, { text: "I look. " }, { text: "So" }),
      fc
        .tuple(fc.constantFrom("look", "hear"), fc.constantFrom({}, { at: "pier" }))
        .map(([name, args]): Json => ({ functionCall: { name, args } })),
    );
    const answers = fc.array(fc.array(part, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 });
    const turns = fc.array(fc.tuple(fc.constantFrom("continue", "go", "stop"), answers), {
      minLength: 1,
      maxLength: 3,
    });
    /** As one element without thoughts, or each piece as it came. */
    const stored = (parts: Json[], isPieces: boolean): Json[] =>
      isPieces
        ? parts.map((one) => ({ role: "model", parts: [one] }))
        : [{ role: "model", parts: parts.filter(({ thought }) => thought !== true) }];
    let calls = 0;
    fc.assert(
      fc.property(turns, fc.boolean(), (conversation, isPieces) => {
        const contents: Json[] = [];
        for (const [text, list] of conversation) {
          const ids: string[] = [];
          const from = contents.length;
          contents.push(user(text));
          for (const parts of list) {
            const reader = dialect.reader(200, { "content-type": "application/json" }, read({ contents }));
            reader.take(Buffer.from(JSON.stringify({ candidates: [{ content: { role: "model", parts } }] })));
            ids.push(...callsOf([reader.end().message]).map(({ id }) => id));
            const results = parts.flatMap(({ functionCall: call }) =>
              call ? [{ name: (call as Json)["name"], response: {} }] : [],
            );
            contents.push(
              ...stored(parts, isPieces),
              ...(results.length > 0 ? [answered(...results)] : [user("?")]),
            );
            if (results.length === 0) break;
          }
          calls += ids.length;
          assert.deepEqual(
            callsOf(messagesOf(contents.slice(from))).map(({ id }) => id),
            ids,
            "without the older turns",
          );
          const all = callsOf(messagesOf(contents)).map(({ id }) => id);
          assert.deepEqual(all.slice(all.length - ids.length), ids);
          assert.equal(new Set(ids).size, ids.length);
        }
      }),
      { numRuns: runs(300), seed: 8 },
    );
    assert.ok(calls > runs(300));
  });

  it("are the same if a client stores each piece of a stream as an element of its own", () => {
    const call = { name: "look", args: {} };
    const whole = messagesOf([
      user("x"),
      { role: "model", parts: [{ text: "I look." }, { functionCall: call }, { functionCall: call }] },
      answered({ name: "look", response: { output: "a" } }, { name: "look", response: { output: "b" } }),
    ]);
    const pieces = [
      user("x"),
      { role: "model", parts: [{ text: "Hm.", thought: true }] },
      { role: "model", parts: [{ text: "I " }] },
      { role: "model", parts: [{ text: "look." }] },
      called(call),
      called(call),
      answered({ name: "look", response: { output: "a" } }, { name: "look", response: { output: "b" } }),
    ];
    const read = messagesOf(pieces).map((message) =>
      message.role === "assistant"
        ? { ...message, content: message.content.filter(({ type }) => type !== "thinking") }
        : message,
    );
    assert.deepEqual(read, whole);
  });

  it("of a result without a call are its own, or the same for the same name", () => {
    const [, one, other] = messagesOf([
      user("x"),
      answered({ id: "a", name: "look", response: {} }, { name: "hear", response: {} }),
    ]);
    assert.ok(one?.role === "toolResult" && other?.role === "toolResult");
    assert.deepEqual([one.toolCallId, one.toolName, other.toolName], ["a", "look", "hear"]);
    assert.notEqual(other.toolCallId, "");
  });
});

describe("the result of a function", () => {
  const resultOf = (response: unknown, parts?: unknown): AgentMessage | undefined =>
    messagesOf([
      user("x"),
      called({ name: "t", args: {} }),
      answered({ name: "t", response, ...(parts ? { parts } : {}) }),
    ])[2];
  const text = (words: string) => [{ type: "text", text: words }];

  it("is its text in any of the usual members, and an error in that of errors; all else is JSON", () => {
    assert.deepEqual(resultOf({ output: "here" })?.content, text("here"));
    assert.deepEqual(resultOf({ result: "here" })?.content, text("here"));
    assert.deepEqual(resultOf({})?.content, []);
    assert.deepEqual(resultOf({ output: "a", exit: 1 })?.content, text('{"output":"a","exit":1}'));
    assert.deepEqual(resultOf({ output: { a: 1 } })?.content, text('{"output":{"a":1}}'));
    const failed = resultOf({ error: "none" });
    assert.deepEqual(failed?.content, text("none"));
    assert.deepEqual(failed?.role === "toolResult" && failed.isError, true);
  });

  it("may have images, as parts of its own", () => {
    const parts = [{ inlineData: { mimeType: "image/png", data: "AAAA" } }];
    assert.deepEqual(resultOf({ output: "here" }, parts)?.content, [
      { type: "text", text: "here" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ]);
  });
});
