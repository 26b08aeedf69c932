import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage, TextPart } from "../../../packages/contract/src/message.ts";
import { extended, lackingOf, NOTHING_HELD } from "../../../packages/runtimes/src/thread/thread-state.ts";

function talk(): { text: TextPart; history: AgentMessage[] } {
  const text: TextPart = { type: "text", text: "What was before." };
  const answer: AgentMessage = { role: "assistant", content: [{ type: "text", text: "Good." }] };
  return { text, history: [{ role: "user", content: [text] }, answer] };
}

describe("The messages that a thread holds", () => {
  it("are found in equal messages and in the same ones, and what follows is lacking", () => {
    const { history } = talk();
    const held = extended(NOTHING_HELD, history);
    const next: AgentMessage = { role: "user", content: "And now?" };
    for (const again of [history, structuredClone(history)]) {
      const lacking = lackingOf({ held }, [...again, next], false);
      assert.deepEqual(lacking?.delta, [next]);
      assert.deepEqual(lacking?.held, extended(held, [next]));
    }
  });

  it("are not found where an engine has changed a message of its own, also in place", () => {
    const { text, history } = talk();
    const held = extended(NOTHING_HELD, history);
    text.text = "What was before, and more.";
    assert.equal(lackingOf({ held }, history, false), undefined);
  });

  it("are not found in another order", () => {
    const { history } = talk();
    const held = extended(NOTHING_HELD, history);
    assert.equal(lackingOf({ held }, history.toReversed(), false), undefined);
  });
});
