/** Source: harness port, "Test plan", `context-engine-projection.test.ts`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { projectContextEngineAssemblyForCodex } from "../../../packages/runtimes/src/codex/codex-projection.ts";

const HISTORY: AgentMessage[] = [
  { role: "user", content: "Where is the ship?" },
  {
    role: "assistant",
    content: [
      { type: "text", text: "I look." },
      { type: "toolCall", id: "c1", name: "read", arguments: { path: "a", deep: { y: 1, x: 2 } } },
    ],
  },
  {
    role: "toolResult",
    toolCallId: "c1",
    toolName: "read",
    content: [{ type: "text", text: "At berth 3." }],
    isError: false,
  },
];

function project(
  assembledMessages: AgentMessage[],
  prompt = "And now?",
  systemPromptAddition?: string,
): string {
  const added = systemPromptAddition === undefined ? {} : { systemPromptAddition };
  return projectContextEngineAssemblyForCodex({
    assembledMessages,
    originalHistoryMessages: assembledMessages,
    prompt,
    ...added,
  }).promptText;
}

test("the same input gives the same bytes, whatever the order of argument fields", () => {
  const [user, assistant, result] = HISTORY;
  assert.ok(user && assistant?.role === "assistant" && result);
  const turned: AgentMessage = {
    ...assistant,
    content: assistant.content.map((part) =>
      part.type === "toolCall" ? { ...part, arguments: { deep: { x: 2, y: 1 }, path: "a" } } : part,
    ),
  };
  assert.equal(project([user, turned, result]), project(HISTORY));
  const stamped = HISTORY.map((message, index) => ({ ...message, timestamp: index, entryId: `e${index}` }));
  assert.equal(project(stamped), project(HISTORY));
});

test("the current prompt comes last, and once also when the assembled history ends with it", () => {
  const text = project([...HISTORY, { role: "user", content: "And now?" }]);
  assert.equal(text, project(HISTORY));
  assert.ok(text.endsWith("Current user request:\nAnd now?"));
  assert.equal(text.split("And now?").length, 2);
});

test("without history it is the prompt alone", () => {
  assert.equal(project([]), "And now?");
  assert.equal(project([{ role: "user", content: "And now?" }]), "And now?");
});

test("messages keep their order and roles", () => {
  const labels = project(HISTORY).match(/^\[(?:user|assistant|tool result c1)\]$/gm);
  assert.deepEqual(labels, ["[user]", "[assistant]", "[tool result c1]"]);
});

test("the engine's addition goes into the developer instructions only", () => {
  const input = { assembledMessages: HISTORY, originalHistoryMessages: HISTORY, prompt: "And now?" };
  const { promptText, developerInstructionAddition, prePromptMessageCount } =
    projectContextEngineAssemblyForCodex({ ...input, systemPromptAddition: "Mind the tide." });
  assert.equal(developerInstructionAddition, "Mind the tide.");
  assert.doesNotMatch(promptText, /tide/);
  assert.equal(prePromptMessageCount, 3);
  assert.equal(projectContextEngineAssemblyForCodex(input).developerInstructionAddition, undefined);
});

test("every word of the history is in it, in order", () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{3,12}$/), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(words, (list) => {
      const messages = list.map((word, index): AgentMessage => ({
        role: index % 2 === 0 ? "user" : "assistant",
        content: [{ type: "text", text: `${index}:${word}` }],
      }));
      const text = project(messages, "PROMPT");
      let at = -1;
      for (const [index, word] of list.entries()) {
        const next = text.indexOf(`${index}:${word}`, at + 1);
        assert.ok(next > at);
        at = next;
      }
    }),
  );
});
