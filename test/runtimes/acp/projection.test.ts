import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { promptBlocks, type Projection } from "../../../packages/runtimes/src/acp/acp-projection.ts";

const HISTORY: AgentMessage[] = [
  { role: "user", content: "Is it wet?" },
  {
    role: "assistant",
    content: [
      { type: "text", text: "I look." },
      { type: "toolCall", id: "c1", name: "note", arguments: { word: "quay", at: 1 } },
    ],
  },
  {
    role: "toolResult",
    toolCallId: "c1",
    toolName: "note",
    content: [{ type: "text", text: "wet" }],
    isError: false,
  },
  { role: "assistant", content: [{ type: "thinking", thinking: "hidden" }] },
];

function promptOf(projection: Partial<Projection>): string[] {
  const blocks = promptBlocks({
    instructions: undefined,
    context: [],
    continues: false,
    shownAgain: [],
    inputs: [{ role: "user", content: "And now?" }],
    takesImages: true,
    ...projection,
  });
  return blocks.map((block) => (block.type === "text" ? block.text : block.type));
}

describe("the prompt of a native session", () => {
  it("is the user's text alone when the session has everything", () => {
    assert.deepEqual(promptOf({ continues: true }), ["And now?"]);
  });

  it("gives a new session the conversation in order, each message once, before the request", () => {
    const [context, intro, prompt, ...more] = promptOf({ context: HISTORY });
    assert.equal(
      context,
      'Pagurus assembled context for this turn:\n\n<conversation_context>\n[user]\nIs it wet?\n\n[assistant]\nI look.\n[tool call c1: note {"at":1,"word":"quay"}]\n\n[tool result c1]\nwet\n</conversation_context>',
    );
    assert.deepEqual([intro, prompt, more], ["Current user request:", "And now?", []]);
  });

  it("gives the same bytes, whatever the order of arguments", () => {
    const turned = HISTORY.map((message) =>
      message.role === "assistant"
        ? {
            ...message,
            content: message.content.map((part) =>
              part.type === "toolCall" ? { ...part, arguments: { at: 1, word: "quay" } } : part,
            ),
          }
        : message,
    );
    assert.deepEqual(promptOf({ context: turned }), promptOf({ context: HISTORY }));
  });

  it("marks the rest as from another place when the session continues", () => {
    const [context] = promptOf({ context: HISTORY.slice(0, 1), continues: true });
    assert.match(context ?? "", /^Said in this conversation since your last answer, in another place:/);
  });

  it("puts instructions first when the agent has no parameter for them", () => {
    assert.deepEqual(promptOf({ instructions: "Be brief." }), [
      "<instructions>\nBe brief.\n</instructions>",
      "Current user request:",
      "And now?",
    ]);
  });

  it("puts fragments before the request unchanged", () => {
    const fragment = { key: "tab", kind: "untrusted" as const };
    const inputs = [
      { role: "user" as const, content: "<tab>a</tab>", fragment },
      { role: "user" as const, content: "And now?" },
    ];
    assert.deepEqual(promptOf({ inputs, shownAgain: ["<old>b</old>"] }), [
      "<old>b</old>",
      "<tab>a</tab>",
      "Current user request:",
      "And now?",
    ]);
  });

  it("passes images to an agent that accepts them, and mentions them to one that does not", () => {
    const inputs = [
      { role: "user" as const, content: [{ type: "image" as const, data: "AA", mimeType: "image/png" }] },
    ];
    assert.deepEqual(promptOf({ inputs }), ["image"]);
    assert.match(promptOf({ inputs, takesImages: false })[0] ?? "", /does not take/);
  });
});
