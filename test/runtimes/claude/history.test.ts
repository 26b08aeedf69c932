import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage, AssistantMessage } from "../../../packages/contract/src/message.ts";
import {
  hostToolName,
  parted,
  sessionLines,
  toNative,
  type Speaker,
} from "../../../packages/runtimes/src/claude/claude-history.ts";

const SPEAKER: Speaker = { hostTools: new Set(["note"]), provider: "anthropic", modelId: "claude" };
const user = (content: AgentMessage["content"] & (string | [])): AgentMessage => ({ role: "user", content });

function assistant(content: AssistantMessage["content"], model = "claude"): AgentMessage {
  return { role: "assistant", content, provider: "anthropic", model };
}

function result(toolCallId: string, words: string, isError = false): AgentMessage {
  return {
    role: "toolResult",
    toolCallId,
    toolName: "note",
    content: [{ type: "text", text: words }],
    isError,
  };
}

const call = (id: string, name = "note") => ({
  type: "toolCall" as const,
  id,
  name,
  arguments: { word: "w" },
});

describe("The conversation in Claude Code's form", () => {
  it("keeps true roles, one message for each change of them", () => {
    const native = toNative(
      [
        user("Before."),
        user("Go on."),
        assistant([{ type: "text", text: "I look." }]),
        assistant([call("a"), call("b", "Bash")]),
        result("a", "noted"),
        result("b", "no", true),
        user("And then?"),
      ],
      SPEAKER,
    );
    assert.deepEqual(native, [
      {
        role: "user",
        content: [
          { type: "text", text: "Before." },
          { type: "text", text: "Go on." },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool_use", id: "a", name: "mcp__pagurus__note", input: { word: "w" } },
          { type: "tool_use", id: "b", name: "Bash", input: { word: "w" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "noted" }] },
          { type: "tool_result", tool_use_id: "b", content: [{ type: "text", text: "no" }], is_error: true },
          { type: "text", text: "And then?" },
        ],
      },
    ]);
    assert.equal(hostToolName("mcp__pagurus__note"), "note");
  });

  it("puts results before messages between a call and its result", () => {
    const native = toNative([assistant([call("a")]), user("Faster."), result("a", "noted")], SPEAKER);
    assert.deepEqual(
      native[1]?.content.map(({ type }) => type),
      ["tool_result", "text"],
    );
  });

  it("sends thinking only to the model that signed it, and never alone", () => {
    const thinking = { type: "thinking" as const, thinking: "Hm.", signature: "s" };
    const text = { type: "text" as const, text: "So." };
    const types = (message: AgentMessage) => toNative([message], SPEAKER)[0]?.content.map(({ type }) => type);
    assert.deepEqual(types(assistant([thinking, text])), ["thinking", "text"]);
    assert.deepEqual(types(assistant([thinking, text], "another")), ["text"]);
    assert.deepEqual(types(assistant([{ type: "thinking", thinking: "Hm." }, text])), ["text"]);
    assert.equal(types(assistant([thinking])), undefined);
  });

  it("has no empty text, and ids and names that the API accepts", () => {
    const native = toNative(
      [user(" \n"), assistant([call("call_1|fc 2", "a.b c")]), result("call_1|fc 2", "")],
      SPEAKER,
    );
    assert.deepEqual(native[0]?.content[0], {
      type: "tool_use",
      id: "call_1_fc_2",
      name: "a_b_c",
      input: { word: "w" },
    });
    assert.deepEqual(native[1]?.content[0], { type: "tool_result", tool_use_id: "call_1_fc_2", content: [] });
  });

  it("has no id that Claude Code takes for a copy of another call's, and no duplicate", () => {
    const ids = ["call_0", "call_0_2", "call_0_2_3", "a|b", "a.b", "toolu_1", "toolu_2"];
    const spoken = ids.flatMap((id) => [assistant([call(id)]), result(id, "noted")]);
    const native = toNative(spoken, SPEAKER);
    const sent = native.flatMap(({ content }) => content.map((block) => block["id"] ?? block["tool_use_id"]));
    const calls = sent.filter((_, at) => at % 2 === 0);
    assert.deepEqual(
      sent.filter((_, at) => at % 2 === 1),
      calls,
      "each result names its call",
    );
    assert.equal(new Set(calls).size, ids.length);
    assert.ok(calls.every((id) => /^[\w-]+$/.test(String(id)) && !String(id).startsWith("call_0_")));
    assert.deepEqual(calls.slice(-2), ["toolu_1", "toolu_2"]);
    const lacking = toNative(spoken.slice(2, 4), SPEAKER, spoken);
    assert.equal(
      lacking[0]?.content[0]?.["id"],
      calls[1],
      "also where the other call is in the session already",
    );
  });

  it("has its newest messages as input, and the earlier ones in the resumed file", () => {
    const spoken = [user("One?"), assistant([call("a")]), result("a", "noted")];
    const answered = [...spoken, assistant([{ type: "text", text: "So." }])];
    const asked = parted(toNative([...answered, user("Two?")], SPEAKER));
    assert.deepEqual(asked.head, toNative(answered, SPEAKER));
    assert.deepEqual([asked.input, asked.continues], [[{ type: "text", text: "Two?" }], false]);
    const inTheMidst = parted(toNative([...spoken, user("Faster.")], SPEAKER));
    assert.deepEqual(inTheMidst.head, toNative(spoken, SPEAKER));
    assert.deepEqual([inTheMidst.input, inTheMidst.continues], [[{ type: "text", text: "Faster." }], true]);
    assert.deepEqual(parted(toNative(answered, SPEAKER)).input, []);
  });

  it("is a chain of lines, each linked to the one before", () => {
    const native = toNative([user("One?"), assistant([{ type: "text", text: "So." }])], SPEAKER);
    const lines = sessionLines(native, { sessionId: "s", cwd: "/work", modelId: "claude", parent: "p" })
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      lines.map(({ parentUuid }) => parentUuid),
      ["p", lines[0]?.["uuid"]],
    );
    assert.deepEqual(
      lines.map(({ type }) => type),
      ["user", "assistant"],
    );
  });
});
