import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { stubsOf } from "../../../packages/lossless/src/summary/prune.ts";
import { stubbed, type Item } from "../../../packages/lossless/src/session-in-memory.ts";
import { messageTokens } from "../../../packages/core/src/tokens/message-tokens.ts";

const PAGE = "the berth is free and swept ".repeat(60);

function item(entryId: string, message: AgentMessage): Item {
  return { entryId, placeId: entryId, message, tokens: messageTokens(message), isFragment: false };
}

function called(
  id: string,
  name: string,
  args: Record<string, string>,
  text: string,
  isError = false,
): Item[] {
  return [
    item(`c-${id}`, { role: "assistant", content: [{ type: "toolCall", id, name, arguments: args }] }),
    item(`r-${id}`, {
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: [{ type: "text", text }],
      isError,
    }),
  ];
}

function argumentsOf({ message }: Item): Record<string, unknown> {
  const [part] = message.role === "assistant" ? message.content : [];
  assert.ok(part?.type === "toolCall");
  return part.arguments;
}

test("the text of a file that is rewritten later is removed from its first call, and its path stays", () => {
  const items = [
    ...called("one", "write_file", { path: "/a.txt", content: `one ${PAGE}` }, "written"),
    ...called("two", "write_file", { path: "/b.txt", content: `two ${PAGE}` }, "written"),
    ...called("three", "write_file", { path: "/a.txt", content: `three ${PAGE}` }, "written"),
  ];
  const stubs = stubsOf(items, new Set());
  assert.deepEqual(Object.keys(stubs), ["c-one/one"]);
  assert.equal(stubs["c-one/one"]?.by, "r-three");
  const [first] = items;
  assert.ok(first);
  const short = stubbed(first, (key) => stubs[key]?.text);
  assert.equal(argumentsOf(short)["path"], "/a.txt");
  assert.match(String(argumentsOf(short)["content"]), /^\[Left out: .* entry c-one\.\]$/);
  assert.ok(short.tokens < first.tokens / 4);
  assert.equal(short.whole, first, "summaries are still made from the whole item");
});

test("a failed write makes nothing obsolete, and neither does an earlier one", () => {
  const items = [
    ...called("one", "write_file", { path: "/a.txt", content: `one ${PAGE}` }, "written"),
    ...called("two", "write_file", { path: "/a.txt", content: `two ${PAGE}` }, "no space", true),
  ];
  assert.deepEqual(stubsOf(items, new Set()), {});
});

test("a pinned call keeps its text", () => {
  const items = [
    ...called("one", "write_file", { path: "/a.txt", content: `one ${PAGE}` }, "written"),
    ...called("two", "write_file", { path: "/a.txt", content: `two ${PAGE}` }, "written"),
  ];
  assert.deepEqual(stubsOf(items, new Set(["c-one"])), {});
});
