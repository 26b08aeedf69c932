import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../src/contract/message.ts";
import { promptBlocks, type Telling } from "../../../src/runtimes/acp/projection.ts";

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

function told(telling: Partial<Telling>): string[] {
  const blocks = promptBlocks({
    instructions: undefined,
    context: [],
    goesOn: false,
    shownAgain: [],
    inputs: [{ role: "user", content: "And now?" }],
    takesImages: true,
    ...telling,
  });
  return blocks.map((block) => (block.type === "text" ? block.text : block.type));
}

describe("the prompt of a native session", () => {
  it("is the user's words alone where the session has everything", () => {
    assert.deepEqual(told({ goesOn: true }), ["And now?"]);
  });

  it("tells a new session the conversation in order, each once, before the request", () => {
    const [context, intro, prompt, ...more] = told({ context: HISTORY });
    assert.equal(
      context,
      'Pagurus assembled context for this turn:\n\n<conversation_context>\n[user]\nIs it wet?\n\n[assistant]\nI look.\n[tool call c1: note {"at":1,"word":"quay"}]\n\n[tool result c1]\nwet\n</conversation_context>',
    );
    assert.deepEqual([intro, prompt, more], ["Current user request:", "And now?", []]);
  });

  it("tells the same in the same bytes, whatever the order of arguments", () => {
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
    assert.deepEqual(told({ context: turned }), told({ context: HISTORY }));
  });

  it("says of a session that goes on that the rest was said elsewhere", () => {
    const [context] = told({ context: HISTORY.slice(0, 1), goesOn: true });
    assert.match(context ?? "", /^Said in this conversation since your last answer, in another place:/);
  });

  it("puts instructions first where the agent takes none beside its own", () => {
    assert.deepEqual(told({ instructions: "Be brief." }), [
      "<instructions>\nBe brief.\n</instructions>",
      "Current user request:",
      "And now?",
    ]);
  });

  it("puts fragments before the request as they are", () => {
    const fragment = { key: "tab", kind: "untrusted" as const };
    const inputs = [
      { role: "user" as const, content: "<tab>a</tab>", fragment },
      { role: "user" as const, content: "And now?" },
    ];
    assert.deepEqual(told({ inputs, shownAgain: ["<old>b</old>"] }), [
      "<old>b</old>",
      "<tab>a</tab>",
      "Current user request:",
      "And now?",
    ]);
  });

  it("hands on images to an agent that takes them, and says so to one that does not", () => {
    const inputs = [
      { role: "user" as const, content: [{ type: "image" as const, data: "AA", mimeType: "image/png" }] },
    ];
    assert.deepEqual(told({ inputs }), ["image"]);
    assert.match(told({ inputs, takesImages: false })[0] ?? "", /does not take/);
  });
});
