import assert from "node:assert/strict";
import { test } from "node:test";
import { summarizeExtractively } from "../../../packages/core/src/compaction/summary/extract.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { answer, input, round } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { Drive, texts } from "./drive.ts";

test("an image that has left the context is named at its place, with its kind, its size and how to retrieve it", async () => {
  const drive = new Drive({ budget: 12_000, config: { trigger: 8_000 } });
  try {
    const data = Buffer.alloc(30_000, 7).toString("base64");
    const alone: AgentMessage = { role: "user", content: [{ type: "image", mimeType: "image/png", data }] };
    await drive.turn(alone, [], answer(0, 20));
    for (let index = 1; index < 60 && drive.compactions === 0; index += 1)
      await drive.turn(input(index), [round(index, 0, 2, 150)], answer(index, 40));
    const head = texts(drive.sent.at(-1)?.messages ?? []);
    assert.match(head, /\[image\/png, 30 KB; context_expand entry00001 gives it\]/);
    assert.ok(!head.includes(data.slice(0, 100)));
  } finally {
    await drive.end();
  }
});

test("of several reports on one step only the newest is listed", async () => {
  const report = (id: string, step: string, status: string): AgentMessage[] => [
    {
      role: "assistant",
      content: [{ type: "toolCall", id, name: "update_plan", arguments: { step, status } }],
    },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: "update_plan",
      content: [{ type: "text", text: "ok" }],
      isError: false,
    },
  ];
  const text = await summarizeExtractively({
    messages: [
      { role: "user", content: "Sweep the berths." },
      ...report("a", "berth-one", "in_progress"),
      ...report("b", "berth-two", "in_progress"),
      ...report("c", "berth-one", "done"),
    ],
    maxTokens: 400,
  });
  assert.doesNotMatch(text, /berth-one[^\n]*in_progress/);
  assert.match(text, /berth-one[^\n]*done/);
  // Only the end of the conversation shows whether it is still in progress.
  assert.doesNotMatch(text, /berth-two[^\n]*in_progress/);
});
