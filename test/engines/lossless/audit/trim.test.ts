import assert from "node:assert/strict";
import { test } from "node:test";
import { trimToolResult } from "../../../../packages/core/src/compaction/trim.ts";
import type { ToolResultMessage } from "../../../../packages/contract/src/message.ts";

const long: ToolResultMessage = {
  role: "toolResult",
  toolCallId: "c1",
  toolName: "read",
  content: [{ type: "text", text: "a line of the log\n".repeat(1_000) }],
  isError: false,
  entryId: "0mwrb9x4g0002vc3",
};

function note(message: ToolResultMessage): string | undefined {
  const [part] = message.content;
  return part?.type === "text" ? /\[\.\.\. .* \.\.\.\]/.exec(part.text)?.[0] : undefined;
}

test("a trimmed result names its entry and the tool that returns it, with the same bytes each time", () => {
  const { message } = trimToolResult(long, 1_000, "context_expand");
  assert.match(
    note(message) ?? "",
    /^\[\.\.\. \d+ characters left out; the whole result is entry 0mwrb9x4g0002vc3, which context_expand gives \.\.\.\]$/,
  );
  assert.deepEqual(trimToolResult({ ...long }, 1_000, "context_expand").message, message);
  assert.equal(trimToolResult(message, 1_000, "context_expand").message, message);
});

test("the note fits the smallest limit, and a result without an entry names no tool", () => {
  const { message } = trimToolResult(long, 1, "context_expand");
  const [part] = message.content;
  assert.ok(part?.type === "text" && part.text.length <= 200);
  assert.match(note(message) ?? "", /context_expand/);
  assert.equal(trimToolResult(message, 1, "context_expand").message, message);
  const { entryId: _, ...unnamed } = long;
  assert.match(
    note(trimToolResult(unnamed, 1_000, "context_expand").message) ?? "",
    /characters left out \.\.\.\]$/,
  );
});
