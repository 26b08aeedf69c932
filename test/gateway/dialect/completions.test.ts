/** Requests of the Chat Completions API: their structure, their content, and how messages are encoded. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AgentMessage, ToolCallPart } from "../../../packages/contract/src/message.ts";
import { completionsDialect as dialect } from "../../../packages/gateway/src/dialect/completions/completions-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { JsonScanError } from "../../../packages/gateway/src/json/scan.ts";
import { runs } from "../../runner/short-form.ts";

type Element = Record<string, unknown>;

const CALL = { id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"pier"}' } };
const LIST: Element[] = [
  { role: "system", content: "Be brief." },
  { role: "developer", content: "Answer in English." },
  { role: "user", content: "Where is the whelk?" },
  { role: "assistant", content: null, reasoning_content: "I look.", tool_calls: [CALL] },
  { role: "tool", tool_call_id: "call_1", content: "behind the pier" },
  { role: "system", content: "It is noon." },
  { role: "assistant", content: "Behind the pier." },
  { role: "user", content: [{ type: "text", text: "And the crab?" }] },
];

function read(body: unknown, path = "/chat/completions"): WireRequest {
  return dialect.read(path, {}, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
}

function encoded(messages: AgentMessage[], addition?: string, request = read({ messages: LIST })): Element[] {
  const bytes = dialect.encode(messages, addition, { request, mayMark: true });
  return JSON.parse(`[${bytes.toString()}]`) as Element[];
}

function call(id: string, name = "look"): ToolCallPart {
  return { type: "toolCall", id, name, arguments: { at: id } };
}

function result(toolCallId: string, text = `result of ${toolCallId}`): AgentMessage {
  const content = [{ type: "text" as const, text }];
  return { role: "toolResult", toolCallId, toolName: "look", content, isError: false };
}

describe("a Chat Completions request", () => {
  it("is read into its fixed prefix, its history, and the live turn", () => {
    const request = read({ model: "m-1", stream: true, prompt_cache_key: "t-1", messages: LIST });
    assert.deepEqual(
      [request.kind, request.model, request.stream, request.prefixCount, request.liveFrom, request.native],
      ["main", "m-1", true, 2, 7, { threadId: "t-1" }],
    );
    const kinds = request.items.map(({ kind }) => kind);
    assert.deepEqual(kinds, [
      "setting",
      "setting",
      "message",
      "message",
      "message",
      "setting",
      "message",
      "message",
    ]);
    for (const [index, { start, end }] of request.items.entries())
      assert.deepEqual(JSON.parse(request.body.toString("utf8", start, end)), LIST[index]);
    const { start, end } = request.list;
    assert.deepEqual(JSON.parse(request.body.toString("utf8", start, end)), LIST);
  });

  it("converts to our messages, with the tool name of each result", () => {
    const { items } = read({ messages: LIST });
    assert.deepEqual(
      items.flatMap(({ messages }) => messages),
      [
        { role: "user", content: "Where is the whelk?" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "I look." },
            { type: "toolCall", id: "call_1", name: "look", arguments: { at: "pier" } },
          ],
        },
        result("call_1", "behind the pier"),
        { role: "assistant", content: [{ type: "text", text: "Behind the pier." }] },
        { role: "user", content: [{ type: "text", text: "And the crab?" }] },
      ],
    );
  });

  it("takes a result's name from the nearest answer if a server reuses an id", () => {
    const again = (name: string): Element => ({
      role: "assistant",
      tool_calls: [{ id: "0", type: "function", function: { name, arguments: "" } }],
    });
    const tool = { role: "tool", tool_call_id: "0", content: "done" };
    const { items } = read({
      messages: [{ role: "user", content: "x" }, again("a"), tool, again("b"), tool],
    });
    const names = items.flatMap(({ messages }) =>
      messages.flatMap((m) => (m.role === "toolResult" ? [m.toolName] : [])),
    );
    assert.deepEqual(names, ["a", "b"]);
  });

  it("keeps images, and a note for parts without a counterpart", () => {
    const content = [
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
    ];
    assert.deepEqual(read({ messages: [{ role: "user", content }] }).items[0]?.messages, [
      {
        role: "user",
        content: [
          { type: "image", data: "AAAA", mimeType: "image/png" },
          { type: "text", text: "[image: https://example.com/a.png]" },
          { type: "text", text: "[input_audio left out]" },
        ],
      },
    ]);
  });

  it("is unknown, and so untouched, if its structure is unusual", () => {
    const user = { role: "user", content: "x" };
    assert.equal(read({ messages: [user] }, "/chat/completions?api-version=1").kind, "main");
    assert.equal(read({ messages: [user], n: 1 }).kind, "main");
    assert.equal(read({ messages: [user], n: 2 }).kind, "unknown");
    assert.equal(read({ messages: [user], functions: [] }).kind, "unknown");
    assert.equal(read({ messages: [user, { role: "function", name: "f", content: "" }] }).kind, "unknown");
    assert.equal(read({ messages: [user] }, "/completions").kind, "unknown");
    assert.equal(read({ messages: [{ role: "system", content: "x" }] }).kind, "unknown");
    assert.equal(read({ messages: [] }).kind, "unknown");
  });

  it("causes a scan error if it has no list of objects", () => {
    for (const body of ["", "{", "[]", '{"a":1}', '{"messages":{}}', '{"messages":[1]}', '{"messages":[]} x'])
      assert.throws(() => read(body), JsonScanError, body);
  });

  it("has valid spans or causes a scan error, for any truncated or changed bytes", () => {
    const whole = JSON.stringify({ model: "m", stream: true, messages: LIST }, undefined, 1);
    const bytes = Buffer.from(whole);
    let readable = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: bytes.length }),
        fc.array(
          fc.tuple(
            fc.nat(bytes.length - 1),
            fc.constantFrom('"', "{", "}", "[", "]", ",", ":", "\\", "u", "0", " ", "\u0000"),
          ),
          {
            maxLength: 3,
          },
        ),
        (cut, changes) => {
          const body = Buffer.from(bytes);
          for (const [at, byte] of changes) body.write(byte, at, "latin1");
          const changed = changes.length > 0 ? body : body.subarray(0, cut);
          let request: WireRequest;
          try {
            request = dialect.read("/chat/completions", {}, changed);
          } catch (error) {
            assert.ok(error instanceof JsonScanError, String(error));
            return;
          }
          readable += 1;
          let last = request.list.start;
          for (const item of request.items) {
            assert.ok(item.start > last && item.end > item.start && item.end < request.list.end);
            last = item.end - 1;
            assert.ok(Array.isArray(item.messages));
          }
          assert.ok(request.prefixCount <= request.items.length && request.liveFrom >= request.prefixCount);
        },
      ),
      { numRuns: runs(3_000), seed: 8 },
    );
    assert.ok(readable > runs(3_000) / 30, `${readable} were readable`);
  });
});

describe("messages as elements of a Chat Completions request", () => {
  it("are unchanged when they are read back", () => {
    const messages: AgentMessage[] = [
      { role: "user", content: "Where?" },
      {
        role: "assistant",
        content: [{ type: "text", text: "I look twice." }, call("a"), call("b", "hear")],
      },
      result("a"),
      { ...(result("b") as Extract<AgentMessage, { role: "toolResult" }>), toolName: "hear" },
      {
        role: "user",
        content: [
          { type: "text", text: "And this?" },
          { type: "image", data: "AAAA", mimeType: "image/png" },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "A crab." }] },
    ];
    const request = read({ messages: encoded(messages) });
    assert.deepEqual(
      request.items.flatMap((item) => item.messages),
      messages,
    );
  });

  it("follow the engine's rules, which have the role of the request's own rules", () => {
    const user: AgentMessage = { role: "user", content: "x" };
    assert.deepEqual(encoded([user], "Know this."), [
      { role: "developer", content: "Know this." },
      { role: "user", content: "x" },
    ]);
    const plain = read({ messages: [{ role: "system", content: 'say "role":"developer"' }, LIST[2]] });
    assert.deepEqual(encoded([], "Know this.", plain), [{ role: "system", content: "Know this." }]);
    assert.deepEqual(encoded([], ""), []);
  });

  it("contain neither thinking nor empty answers", () => {
    const thinking = { type: "thinking" as const, thinking: "Hm.", signature: "s" };
    assert.deepEqual(
      encoded([
        { role: "assistant", content: [thinking] },
        { role: "user", content: "" },
        { role: "assistant", content: [thinking, { type: "text", text: "Yes." }] },
      ]),
      [{ role: "assistant", content: "Yes." }],
    );
  });

  it("show a tool's images after all results of the round", () => {
    const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
    const shown = { ...(result("a") as Extract<AgentMessage, { role: "toolResult" }>), content: [image] };
    const roles = encoded([
      { role: "assistant", content: [call("a"), call("b")] },
      shown,
      result("b"),
      { role: "user", content: "x" },
    ]).map(({ role, content }) => (Array.isArray(content) ? `${String(role)} ${content.length}` : role));
    assert.deepEqual(roles, ["assistant", "tool", "tool", "user 2", "user"]);
  });

  it("leave a pair open if its other half is in the harness's own elements", () => {
    const open = encoded([
      { role: "user", content: "x" },
      { role: "assistant", content: [call("a"), call("b")] },
      result("a"),
    ]);
    assert.deepEqual(
      open.map(({ role, tool_call_id: id }) => [role, id]),
      [
        ["user", undefined],
        ["assistant", undefined],
        ["tool", "a"],
      ],
    );
    assert.deepEqual(
      encoded([result("call_1"), { role: "user", content: "x" }]).map(({ role }) => role),
      ["tool", "user"],
    );
  });

  it("have each result once, after its own call, if an id is reused", () => {
    const answer: AgentMessage = { role: "assistant", content: [call("0")] };
    const messages = [answer, result("0", "first"), answer, result("0", "second"), answer];
    const texts = encoded([...messages, { role: "user", content: "x" }]).flatMap(({ role, content }) =>
      role === "tool" ? [content] : [],
    );
    assert.deepEqual(texts, ["first", "second", "No result was recorded for this tool call."]);
  });

  it("replace an id that OpenAI rejects, but none that the harness itself uses", () => {
    const long = `call_${"x".repeat(60)}`;
    const pair: AgentMessage[] = [{ role: "assistant", content: [call(long)] }, result(long)];
    const [answer, texts] = encoded(pair);
    const [sent] = (answer?.["tool_calls"] ?? []) as { id: string }[];
    assert.ok(sent && sent.id.length <= 40 && texts?.["tool_call_id"] === sent.id, JSON.stringify(sent));
    const own = read({
      messages: [
        { role: "user", content: "x" },
        { role: "assistant", tool_calls: [{ ...CALL, id: long }] },
      ],
    });
    assert.equal(encoded(pair, undefined, own)[1]?.["tool_call_id"], long);
  });

  it("are always in an order that the protocol allows, with equal bytes for equal messages", () => {
    const id = fc.constantFrom("a", "b", "c", "d");
    const message: fc.Arbitrary<AgentMessage> = fc.oneof(
      fc.constantFrom<AgentMessage>({ role: "user", content: "u" }, { role: "user", content: [] }),
      fc
        .tuple(fc.string({ maxLength: 3 }), fc.uniqueArray(id, { maxLength: 3 }))
        .map(([text, ids]): AgentMessage => ({
          role: "assistant",
          content: [{ type: "text", text }, ...ids.map((each) => call(each))],
        })),
      id.map((each) => result(each)),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        // At the start of a request, and with an end: no element of the harness completes a pair.
        const all: AgentMessage[] = [
          { role: "user", content: "first" },
          ...messages,
          { role: "user", content: "last" },
        ];
        const elements = encoded(all);
        assert.deepEqual(encoded(all), elements);
        let open: string[] = [];
        for (const element of elements) {
          if (element["role"] === "tool") {
            assert.equal(open.shift(), element["tool_call_id"], JSON.stringify(elements));
            continue;
          }
          assert.deepEqual(open, [], JSON.stringify(elements));
          open = ((element["tool_calls"] ?? []) as { id: string }[]).map((each) => each.id);
          assert.ok(open.length > 0 || (element["content"] ?? "") !== "");
        }
        assert.deepEqual(open, []);
      }),
      { numRuns: runs(1_000), seed: 8 },
    );
  });
});
