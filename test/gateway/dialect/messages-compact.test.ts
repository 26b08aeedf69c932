/** Compactions of the Messages API itself: `compaction`, and the edit `compact_20260112` of `context_management`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import type { WireRequest } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { passing } from "../../../packages/gateway/src/splice/splice-request.ts";

const USAGE = { input: 900, output: 9, totalTokens: 909 };
const HISTORY = [
  { role: "user", content: "Berth 7?" },
  { role: "assistant", content: "It is free." },
  { role: "user", content: "And berth 8?" },
];

function read(more: object, messages: object[] = HISTORY): WireRequest {
  const body = { model: "claude-opus-5-5", max_tokens: 500, ...more, messages };
  return messagesDialect.read("/messages?beta=true", {}, Buffer.from(JSON.stringify(body)));
}

const SUMMARIZE = { compaction: { type: "summarize" } };

function edit(value: number, more: object = { pause_after_compaction: true }): object {
  const trigger = { type: "input_tokens", value };
  return { context_management: { edits: [{ type: "compact_20260112", trigger, ...more }] } };
}

/** The block that the gateway answers a compaction with. */
function blockOf(request: WireRequest, summary = "All berths in short."): Record<string, unknown> {
  const { body } = messagesDialect.answer(request, summary, USAGE);
  const { content, stop_reason } = JSON.parse(body.toString()) as {
    content: Record<string, unknown>[];
    stop_reason: string;
  };
  assert.equal(stop_reason, "compaction");
  const [block, ...others] = content;
  assert.deepEqual(others, []);
  return block ?? {};
}

describe("a request of the Messages API for a compaction", () => {
  it("is one by its member, of all its messages, with the focus of its instructions", () => {
    const asked = read({ compaction: { type: "summarize", instructions: "The berths." } });
    assert.equal(asked.kind, "compaction");
    assert.deepEqual(asked.compaction, { trigger: "manual", isWhole: true, focus: "The berths." });
    assert.deepEqual([asked.items.length, asked.liveFrom], [3, 3]);
    assert.equal(read(SUMMARIZE, HISTORY.slice(0, 2)).kind, "compaction", "after an answer too");
    for (const none of [{ compaction: null }, { compaction: { type: "other" } }])
      assert.equal(read(none).kind, "main");
  });

  it("is one by its edit once its input reaches the trigger, and a turn if the engine makes no summary", () => {
    const asked = read(edit(20));
    assert.equal(asked.kind, "compaction");
    assert.deepEqual(asked.compaction, { trigger: "auto", isWhole: true, otherwise: "main" });
    assert.equal(read(edit(5_000)).kind, "main");
    const long = [{ role: "user", content: "The keeper wrote down each ship. ".repeat(30_000) }];
    const plain = {
      context_management: { edits: [{ type: "compact_20260112", pause_after_compaction: true }] },
    };
    assert.equal(read(plain, long).kind, "compaction", "150,000 tokens by default");
    assert.equal(read(plain).kind, "main");
  });

  it("is none where the provider has to answer in the same message, or for another edit", () => {
    assert.equal(read(edit(20, {})).kind, "main");
    const other = { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } };
    assert.equal(read(other).kind, "main");
  });

  it("does not count what comes before the newest block", () => {
    const block = blockOf(read(edit(20)));
    const long = { role: "user", content: "The keeper wrote down each ship. ".repeat(500) };
    const before = read(edit(2_000), [long, ...HISTORY.slice(1)]);
    assert.equal(before.kind, "compaction");
    const after = read(edit(2_000), [
      long,
      { role: "assistant", content: [block] },
      { role: "user", content: "And berth 9?" },
    ]);
    assert.equal(after.kind, "main");
  });
});

describe("a summary of the engine in a compaction block", () => {
  it("is the whole answer, as a message or a stream", () => {
    const block = blockOf(read(SUMMARIZE));
    assert.deepEqual([block["type"], block["content"]], ["compaction", "All berths in short."]);
    const { body } = messagesDialect.answer(read({ ...SUMMARIZE, stream: true }), "In short.", USAGE);
    const events = body
      .toString()
      .split("\n\n")
      .filter((event) => event !== "")
      .map((event) => JSON.parse(event.slice(event.indexOf("data: ") + 6)) as Record<string, unknown>);
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
      ],
    );
    const delta = events[2]?.["delta"] as Record<string, unknown>;
    assert.deepEqual([delta["type"], delta["content"]], ["compaction_delta", "In short."]);
    assert.equal(((events[4] ?? {})["delta"] as Record<string, unknown>)["stop_reason"], "compaction");
  });

  it("is a passing setting of later requests, and text for a provider, which cannot read it", () => {
    const block = blockOf(read(SUMMARIZE));
    for (const role of ["user", "assistant"]) {
      const next = read({}, [
        { role, content: [block] },
        { role: "user", content: "And berth 9?" },
      ]);
      assert.equal(next.kind, "main");
      assert.deepEqual(
        next.items.map(({ kind, isPassing }) => [kind, isPassing]),
        [
          ["setting", true],
          ["message", false],
        ],
      );
      assert.deepEqual([next.prefixCount, next.liveFrom], [0, 1]);
      assert.notEqual(next.native.window, undefined);
      const sent = JSON.parse(Buffer.concat(passing(next)).toString()) as { messages: object[] };
      assert.match(JSON.stringify(sent.messages[0]), /^\{"role":"user",.*All berths in short\./);
      assert.doesNotMatch(JSON.stringify(sent), /pagurus:summary|"compaction"/);
    }
  });

  it("keeps what else its message contains", () => {
    const block = blockOf(read(SUMMARIZE));
    const next = read({}, [
      { role: "assistant", content: [block, { type: "text", text: "Berth 8 is free." }] },
      { role: "user", content: "And berth 9?" },
    ]);
    const { messages } = JSON.parse(Buffer.concat(passing(next)).toString()) as {
      messages: { role: string }[];
    };
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant", "user"],
    );
  });

  it("at the end of a request leaves the user's input before it to be answered", () => {
    const block = blockOf(read(edit(20)));
    const next = read(edit(2_000), [...HISTORY, { role: "assistant", content: [block] }]);
    assert.equal(next.kind, "main");
    assert.deepEqual([next.items.length, next.liveFrom], [3, 2]);
  });

  it("has the name of a conversation that its first words gave", () => {
    const asked = read(SUMMARIZE);
    const named = { ...asked, native: { ...asked.native, contentId: "c-1" } };
    const next = read({}, [{ role: "user", content: [blockOf(named)] }, ...HISTORY]);
    assert.equal(next.items[0]?.compactedFrom, "c-1");
  });

  it("of the provider is left as it is", () => {
    const own = { type: "compaction", content: "Of the provider.", encrypted_content: "EpQB" };
    const next = read({}, [{ role: "assistant", content: [own] }, ...HISTORY]);
    assert.equal(next.items[0]?.replacement, undefined);
    assert.equal(next.items[0]?.isPassing, true);
    assert.equal(passing(next)[0], next.body);
  });
});
