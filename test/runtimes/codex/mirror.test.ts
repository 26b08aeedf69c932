import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { toHistoryItems } from "../../../packages/runtimes/src/codex/codex-items.ts";
import { CodexTurnMirror, type RawItem } from "../../../packages/runtimes/src/codex/codex-mirror.ts";

function mirrored(work: (mirror: CodexTurnMirror) => void): string[] {
  const lines: string[] = [];
  const mirror = new CodexTurnMirror({ provider: "p", model: "m" }, (message) => lines.push(lineOf(message)));
  work(mirror);
  return lines;
}

function lineOf(message: AgentMessage): string {
  if (typeof message.content === "string") return message.content;
  const parts = message.content.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "thinking") return `(${part.thinking})`;
    return part.type === "toolCall" ? `${part.name} ${part.id} ${JSON.stringify(part.arguments)}` : "image";
  });
  const about =
    message.role === "toolResult" ? ` ${message.toolCallId}${message.isError ? " failed" : ""}` : "";
  return `${message.role}${about}: ${parts.join(" | ")}`;
}

const text = (id: string, text: string): RawItem => ({
  type: "message",
  role: "assistant",
  id,
  content: [{ type: "output_text", text }],
});
const call = (id: string, name: string, args: string): RawItem => ({
  type: "function_call",
  call_id: id,
  name,
  arguments: args,
});
const output = (id: string, text: string): RawItem => ({
  type: "function_call_output",
  call_id: id,
  output: text,
});

test("an answer is one message with its thoughts, text and calls; each result is one of its own", () => {
  const lines = mirrored((mirror) => {
    mirror.item({ type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] });
    mirror.item(text("m1", "I look."));
    mirror.item(call("c1", "exec_command", '{"cmd":"ls"}'));
    mirror.item({ type: "custom_tool_call", call_id: "c2", name: "apply_patch", input: "*** Begin" });
    mirror.response({ input: 1, output: 1, totalTokens: 2 });
    mirror.failed("c2");
    mirror.item(output("c1", "a b"));
    mirror.item({ type: "custom_tool_call_output", call_id: "c2", output: "no such file" });
    mirror.item(text("m2", "Done."));
    mirror.response(undefined);
    mirror.end("stop");
  });
  assert.deepEqual(lines, [
    'assistant: (Hm.) | I look. | exec_command c1 {"cmd":"ls"} | apply_patch c2 {"input":"*** Begin"}',
    "toolResult c1: a b",
    "toolResult c2 failed: no such file",
    "assistant: Done.",
  ]);
});

test("instructions, user messages, and fragments in the form of a tool's output are not the agent's work", () => {
  const lines = mirrored((mirror) => {
    for (const role of ["developer", "user"])
      mirror.item({ type: "message", role, content: [{ text: "words" }] });
    mirror.item({ type: "function_call_output", name: "tab", namespace: "agent", output: "the harbour" });
    mirror.end("stop");
  });
  assert.deepEqual(lines, []);
});

test("images are those of the host's tool, not Codex's copies; an omitted one stays text", () => {
  const messages: AgentMessage[] = [];
  const mirror = new CodexTurnMirror({ provider: "p", model: "m" }, (message) => messages.push(message));
  const image = (data: string) => ({ type: "image" as const, data, mimeType: "image/png" });
  const shown = (data: string) => ({ type: "input_image", image_url: `data:image/webp;base64,${data}` });
  const words = { type: "input_text", text: "words" };
  for (const id of ["c1", "c2", "c3"]) mirror.item(call(id, "look", "{}"));
  mirror.answered("c1", [{ type: "text", text: "Words." }, image("AAAA"), image("BBBB")]);
  mirror.answered("c2", [image("CCCC"), image("DDDD")]);
  const outputs = { c1: [words, shown("aa"), shown("bb")], c2: [words, shown("dd")], c3: [shown("ee")] };
  for (const [id, parts] of Object.entries(outputs))
    mirror.item({ type: "function_call_output", call_id: id, output: parts });
  const text = { type: "text", text: "words" };
  assert.deepEqual(
    messages.slice(1).map(({ content }) => content),
    [
      [text, image("AAAA"), image("BBBB")],
      [text, { type: "image", data: "dd", mimeType: "image/webp" }],
      [{ type: "image", data: "ee", mimeType: "image/webp" }],
    ],
  );
});

test("a turn that is cut off keeps streamed text, and closes calls without a result", () => {
  const lines = mirrored((mirror) => {
    mirror.item(call("c1", "exec_command", "{not json"));
    mirror.delta("m1", "Half ");
    mirror.delta("m1", "of it");
    mirror.end("aborted");
  });
  assert.deepEqual(lines, [
    'assistant: exec_command c1 {"input":"{not json"} | Half of it',
    "toolResult c1 failed: The turn ended before this tool call finished; its outcome is unknown.",
  ]);
});

test("text before joined input is emitted once, also when Codex continues the answer", () => {
  const lines = mirrored((mirror) => {
    mirror.delta("m1", "One, ");
    mirror.split();
    mirror.item(text("m1", "One, two."));
    mirror.response(undefined);
  });
  assert.deepEqual(lines, ["assistant: One, ", "assistant: two."]);
});

test("text that streams until the model sees the input is placed before its answer to that, once", () => {
  const dropped = mirrored((mirror) => {
    mirror.delta("m1", "One, ");
    mirror.split();
    mirror.delta("m1", "two.");
    mirror.split();
    mirror.item(text("m2", "Three."));
    mirror.response(undefined);
    mirror.end("stop");
  });
  assert.deepEqual(dropped, ["assistant: One, ", "assistant: two.", "assistant: Three."]);
  const goneOn = mirrored((mirror) => {
    for (const words of ["One, ", "two, "]) {
      mirror.delta("m1", words);
      mirror.split();
    }
    mirror.item(text("m1", "One, two, three."));
    mirror.response(undefined);
  });
  assert.deepEqual(goneOn, ["assistant: One, ", "assistant: two, ", "assistant: three."]);
});

test("of an answer that broke off and was retried only complete items stay", () => {
  const lines = mirrored((mirror) => {
    mirror.item(text("m1", "I look."));
    mirror.item(call("c1", "look", "{}"));
    mirror.item(output("c1", "a"));
    mirror.delta("m2", "Half of");
    mirror.retry();
    mirror.delta("m3", "Half of");
    mirror.retry();
    mirror.item(call("c1", "look", "{}"));
    mirror.item(output("c1", "b"));
    mirror.item(text("m4", "All of it."));
    mirror.response(undefined);
    mirror.end("stop");
  });
  assert.deepEqual(lines, [
    "assistant: I look. | look c1 {}",
    "toolResult c1: a",
    "assistant: look c1 {}",
    "toolResult c1: b",
    "assistant: All of it.",
  ]);
});

test("mirrored messages become the same items again; a result that is too long names what was left out", () => {
  const messages: AgentMessage[] = [];
  const mirror = new CodexTurnMirror({ provider: "p", model: "m" }, (message) => messages.push(message));
  mirror.item(text("m1", "I look."));
  mirror.item(call("c1", "exec_command", '{"cmd":"ls"}'));
  mirror.item(output("c1", "a b"));
  const { items, shortened } = toHistoryItems(messages);
  assert.deepEqual(items, [
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] },
    { type: "function_call", name: "exec_command", arguments: '{"cmd":"ls"}', call_id: "c1" },
    { type: "function_call_output", call_id: "c1", output: "a b" },
  ]);
  assert.deepEqual(shortened, []);
  const long: AgentMessage = {
    role: "toolResult",
    toolCallId: "c9",
    toolName: "read",
    content: [{ type: "text", text: "x".repeat(60_000) }],
    isError: false,
    entryId: "e9",
  };
  const cut = toHistoryItems([long]);
  assert.deepEqual(cut.shortened, ["e9"]);
  const [item] = cut.items;
  assert.ok(item?.type === "function_call_output" && typeof item.output === "string");
  assert.ok(item.output.length < 48_000);
  assert.match(
    item.output,
    /\[20000 characters left out here; the whole is entry e9, read it with context_expand\]/,
  );
});
