import assert from "node:assert/strict";
import { test } from "node:test";
import { trimToolResult } from "../../../packages/core/src/compaction/trim.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { resultChars, sentTokens } from "../../../packages/lossless/src/session-in-memory.ts";
import { messageTokens } from "../../../packages/core/src/tokens/message-tokens.ts";

function resultOf(chars: number): Extract<AgentMessage, { role: "toolResult" }> {
  const text = "berth B7 is free \n".repeat(Math.ceil(chars / 18)).slice(0, chars);
  return {
    role: "toolResult",
    toolCallId: "call_1",
    toolName: "berth_log",
    content: [{ type: "text", text }],
    isError: false,
    entryId: "entry00001",
  };
}

test("a long result counts with its length as sent, whatever limit the host is configured with", () => {
  const long = resultOf(300_000);
  for (const [configured, contextWindow, chars] of [
    [undefined, 200_000, 48_000],
    [undefined, 32_000, 32_000],
    [1_000, 200_000, 1_000],
    [250_000, 200_000, 250_000],
  ] as const) {
    const defaults = configured === undefined ? {} : { toolResultMaxChars: configured };
    const limit = resultChars({ config: { agents: { defaults } }, contextWindow });
    assert.equal(limit, chars);
    assert.equal(sentTokens(long, limit), messageTokens(trimToolResult(long, chars).message));
  }
});
