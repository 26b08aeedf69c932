/** Our messages as elements of a Messages request. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import type { EncodeOptions, WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { elementsOf, linesOf, readChanged, readRecorded, type Json } from "./messages-recorded.ts";
import { runs } from "../../runner/short-form.ts";

interface Element {
  role: string;
  content: Json[];
}

const REQUEST = readRecorded("tool-results");

function encode(
  messages: readonly AgentMessage[],
  addition?: string,
  options: Partial<EncodeOptions> = {},
): Element[] {
  const bytes = messagesDialect.encode(messages, addition, { request: REQUEST, mayMark: false, ...options });
  return JSON.parse(`[${bytes.toString("utf8")}]`) as Element[];
}

const user = (text: string): AgentMessage => ({ role: "user", content: text });
const assistant = (text: string): AgentMessage => ({ role: "assistant", content: [{ type: "text", text }] });
const calls = (...ids: string[]): AgentMessage => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "toolCall", id, name: "Read", arguments: { at: id } })),
});
const result = (toolCallId: string, text: string, isError = false): AgentMessage => ({
  role: "toolResult",
  toolCallId,
  toolName: "Read",
  content: text === "" ? [] : [{ type: "text", text }],
  isError,
});

function blocksAt(body: Json, index: number): Json[] {
  const content = elementsOf(body).at(index)?.content;
  return Array.isArray(content) ? content : [];
}

const REMINDER = "<system-reminder>\nBe brief.\n</system-reminder>";

describe("The encoding of messages", () => {
  it("puts the results of a round of parallel calls in one element after it", () => {
    assert.deepEqual(
      encode([user("Look."), calls("a", "b"), result("b", "B"), result("a", "", true), assistant("Done.")]),
      [
        { role: "user", content: [{ type: "text", text: "Look." }] },
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: "a", name: "Read", input: { at: "a" } },
            { type: "tool_use", id: "b", name: "Read", input: { at: "b" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "b", content: [{ type: "text", text: "B" }] },
            { type: "tool_result", tool_use_id: "a", is_error: true },
          ],
        },
        { role: "assistant", content: [{ type: "text", text: "Done." }] },
      ],
    );
  });

  it("is read back as the same messages", () => {
    const messages = [
      user("Look."),
      calls("a", "b"),
      result("b", "B"),
      result("a", "A", true),
      assistant("Done."),
      user("So?"),
    ];
    const bytes = messagesDialect.encode(messages, undefined, { request: REQUEST, mayMark: true });
    const body = Buffer.from(`{"messages":[${bytes.toString("utf8")}]}`);
    const again = messagesDialect.read("/messages", {}, body);
    const parts = (all: readonly AgentMessage[]): string[] => linesOf({ messages: all });
    assert.deepEqual(again.items.flatMap(linesOf), parts(messages));
  });

  it("omits thinking, empty text, and answers without other content", () => {
    const thought: AgentMessage = {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "s" },
        { type: "text", text: " " },
      ],
    };
    assert.deepEqual(
      encode([user("One."), thought, user("  "), assistant("Two.")]),
      encode([user("One."), assistant("Two.")]),
    );
    assert.equal(messagesDialect.encode([thought], undefined, { request: REQUEST, mayMark: true }).length, 0);
  });

  it("contains images of users and of tools", () => {
    const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
    const shown = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
    const seen: AgentMessage = {
      role: "toolResult",
      toolCallId: "a",
      toolName: "Read",
      content: [image],
      isError: false,
    };
    const [first, , third] = encode([{ role: "user", content: [image] }, calls("a"), seen]);
    assert.deepEqual(first?.content, [shown]);
    assert.deepEqual(third?.content, [{ type: "tool_result", tool_use_id: "a", content: [shown] }]);
  });

  it("puts the engine's addition first, as a reminder", () => {
    assert.deepEqual(encode([assistant("So.")], "Be brief."), [
      { role: "user", content: [{ type: "text", text: REMINDER }] },
      { role: "assistant", content: [{ type: "text", text: "So." }] },
    ]);
    assert.deepEqual(encode([], "Be brief."), [
      { role: "user", content: [{ type: "text", text: REMINDER }] },
    ]);
  });

  it("begins with a user message, if no element precedes it", () => {
    assert.deepEqual(
      encode([assistant("So.")]).map(({ role }) => role),
      ["user", "assistant"],
    );
    assert.deepEqual(
      encode([assistant("So.")], undefined, { isContinued: true }).map(({ role }) => role),
      ["assistant"],
    );
  });

  it("gives each call a unique id that the API accepts, and its result the same one", () => {
    const elements = encode([
      calls("call|1:é"),
      result("call|1:é", "One"),
      calls("call|1:é"),
      result("call|1:é", "Two"),
      user("?"),
    ]);
    const ids = elements.flatMap(({ content }) =>
      content.map((block) => block["id"] ?? block["tool_use_id"]),
    );
    const [first, , second] = ids.filter((id) => typeof id === "string");
    assert.match(first ?? "", /^[a-zA-Z0-9_-]+$/);
    assert.match(second ?? "", /^[a-zA-Z0-9_-]+$/);
    assert.notEqual(first, second);
    assert.deepEqual(ids.slice(1, 5), [first, first, second, second]);
  });

  it("answers a call that has no result, unless the harness's own elements may follow", () => {
    const open = encode([user("Look."), calls("a"), user("Never mind.")]);
    assert.deepEqual(open[2]?.content[0]?.["is_error"], true);
    assert.equal(encode([user("Look."), calls("a")]).length, 2);
  });

  it("writes a result without a call as text, unless the call is right before in the harness's own bytes", () => {
    assert.deepEqual(encode([user("Look."), result("gone", "It is so.")])[1], {
      role: "user",
      content: [
        { type: "text", text: "[Result of the tool Read]" },
        { type: "text", text: "It is so." },
      ],
    });
    const next = encode([result("a", "A"), result("b", "B")], undefined, { isContinued: true });
    assert.deepEqual(
      next.map(({ content }) => content.map((block) => block["tool_use_id"])),
      [["a", "b"]],
    );
  });

  it("uses the name under which Claude Code offers a tool of the host", () => {
    const request = readChanged("tool-results", (body) => {
      const tools = body["tools"] as Json[];
      tools.push({ name: "mcp__host__note", input_schema: { type: "object" } });
    });
    const note: AgentMessage = {
      role: "assistant",
      content: ["note", "Read", "gone/tool"].map((name, id) => ({
        type: "toolCall",
        id: `c${id}`,
        name,
        arguments: {},
      })),
    };
    const [, element] = encode([user("Note."), note], undefined, { request });
    assert.deepEqual(
      element?.content.map(({ name }) => name),
      ["mcp__host__note", "Read", "gone_tool"],
    );
  });
});

describe("The cache mark of encoded messages", () => {
  const marks = (request: WireRequest, mayMark = true): number =>
    encode([user("One."), assistant("Two.")], undefined, { request, mayMark })
      .flatMap(({ content }) => content)
      .filter((block) => block["cache_control"] !== undefined).length;

  it("is set after the last block, if the request has fewer than four", () => {
    assert.equal(marks(REQUEST), 1);
    assert.equal(marks(REQUEST, false), 0);
    const last = encode([user("One."), assistant("Two.")], undefined, { mayMark: true })
      .at(-1)
      ?.content.at(-1);
    assert.deepEqual(last?.["cache_control"], { type: "ephemeral" });
  });

  it("is never the fifth: those of system, tools, messages and results are counted", () => {
    const mark = { cache_control: { type: "ephemeral" } };
    const changes: ((body: Json) => void)[] = [
      (body) => void Object.assign((body["tools"] as Json[])[0] ?? {}, mark),
      (body) => void Object.assign(body["system"] instanceof Array ? (body["system"][0] as Json) : {}, mark),
      (body) => void Object.assign(blocksAt(body, 0)[0] ?? {}, mark),
      (body) => void Object.assign(body, mark),
      (body) => {
        const [block] = blocksAt(body, -1);
        Object.assign(block ?? {}, { content: [{ type: "text", text: "x", ...mark }] });
      },
    ];
    for (const change of changes) assert.equal(marks(readChanged("tool-results", change)), 0);
  });

  it("is not set if there may be too many marks and the request cannot be parsed", () => {
    const mark = '{"type":"text","text" 1,"cache_control":{"type":"ephemeral"}}';
    const broken = (count: number): WireRequest => {
      const system = Array.from({ length: count }, () => mark).join(",");
      const body = Buffer.from(`{"system":[${system}],"messages":[{"role":"user","content":"One."}]}`);
      return messagesDialect.read("/messages", {}, body);
    };
    assert.deepEqual([marks(broken(4)), marks(broken(3))], [0, 1]);
  });

  it("is not prevented by text or schemas that only mention marks", () => {
    const request = readChanged("tool-results", (body) => {
      const text = '{"cache_control":{"type":"ephemeral"}} "cache_control":{} {"cache_control":1}';
      elementsOf(body).unshift({ role: "user", content: [{ type: "text", text }] });
      const [tool] = body["tools"] as Json[];
      Object.assign(tool ?? {}, {
        input_schema: { type: "object", properties: { cache_control: {} }, cache_control: {} },
      });
    });
    assert.equal(marks(request), 1);
  });
});

/** Contexts as an engine may return them, including invalid ones. */
const ID = fc.constantFrom("a", "b", "c", "d|1", "e");
const CONTEXT = fc.array(
  fc.oneof(
    fc.constantFrom(user("Words."), user(""), assistant("Said."), assistant("")),
    fc.uniqueArray(ID, { minLength: 1, maxLength: 3 }).map((ids) => calls(...ids)),
    ID.map((id) => result(id, "R")),
  ),
  { maxLength: 14 },
);

function checkRules(elements: readonly Element[], isOpenEnd: boolean): void {
  const seen = new Set<unknown>();
  for (const [index, { role, content }] of elements.entries()) {
    assert.ok(content.length > 0);
    const used = content.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    for (const id of used) assert.ok(!seen.has(id), "an id is used once");
    for (const id of used) seen.add(id);
    const next = elements[index + 1]?.content.filter(({ type }) => type === "tool_result") ?? [];
    const answered = next.map((block) => block["tool_use_id"]);
    if (used.length > 0 && !(isOpenEnd && index === elements.length - 1))
      assert.deepEqual(
        [answered.length, new Set(answered)],
        [used.length, new Set(used)],
        "all results of a round right after it",
      );
    if (used.length === 0) assert.deepEqual(answered, [], "no result without its call right before");
    if (content.some(({ type }) => type === "tool_result")) {
      assert.equal(role, "user");
      assert.ok(content.every(({ type }) => type === "tool_result"));
    }
  }
}

describe("For any context", () => {
  it("each result directly follows its call, ids are used once, and the first element is the user's", () => {
    fc.assert(
      fc.property(CONTEXT, fc.option(fc.constant("Be brief."), { nil: undefined }), (messages, addition) => {
        const elements = encode(messages, addition);
        if (elements.length > 0) assert.equal(elements[0]?.role, "user");
        checkRules(elements, true);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("the same messages give the same bytes, and no text of a user or of a result is lost", () => {
    fc.assert(
      fc.property(CONTEXT, (messages) => {
        const options = { request: REQUEST, mayMark: true };
        const bytes = messagesDialect.encode(messages, undefined, options);
        assert.deepEqual(messagesDialect.encode(structuredClone(messages), undefined, options), bytes);
        const text = bytes.toString("utf8");
        const count = (word: string): number => text.split(word).length - 1;
        assert.equal(count('"R"'), messages.filter(({ role }) => role === "toolResult").length);
        assert.equal(count("Words."), messages.filter(({ content }) => content === "Words.").length);
      }),
      { numRuns: runs(500) },
    );
  });
});
