import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { joinLive, splitLive } from "../../packages/host/src/turn/context/live-messages.ts";

const user = (text: string, entryId?: string): AgentMessage => ({
  role: "user",
  content: text,
  ...(entryId === undefined ? {} : { entryId }),
});
const history = [user("one", "a1"), user("two", "a2")];
const live = [user("yes", "b1"), user("steer", "b2")];

describe("joining the live turn with an engine's answer", () => {
  it("appends what the engine left out", () => {
    assert.deepEqual(joinLive(history, live), [...history, ...live]);
  });

  it("never repeats a message that the engine returned by id or as a copy without one", () => {
    assert.deepEqual(joinLive([...history, ...live], live), [...history, ...live]);
    assert.deepEqual(joinLive([...history, user("yes")], live), [...history, ...live]);
    const parts: AgentMessage = { role: "user", content: [{ type: "text", text: "yes" }] };
    assert.deepEqual(joinLive([...history, parts], live), [...history, ...live]);
  });

  it("keeps an equal message of the history", () => {
    const before: AgentMessage[] = [
      user("yes"),
      { role: "assistant", content: [{ type: "text", text: "ok" }] },
    ];
    assert.deepEqual(joinLive(before, live), [...before, ...live]);
  });

  it("has every live message once and in order, whatever part of them the engine returns", () => {
    const texts = fc.array(fc.constantFrom("yes", "no", "go"), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(
        texts,
        texts,
        fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
        (past, now, returned) => {
          const before = past.map((text, index) => user(text, `a${index}`));
          const turn = now.map((text, index) => user(text, `b${index}`));
          const answer = [...before, ...turn.filter((_, index) => returned[index])];
          assert.deepEqual(joinLive(answer, turn), [...before, ...turn]);
        },
      ),
    );
  });
});

describe("splitting a context at the live turn", () => {
  it("treats the input and all after it as live, a summary between them included", () => {
    const messages = [
      user("old", "a1"),
      user("input", "b1"),
      user("<conversation_summary>\ns\n</conversation_summary>", "c1"),
      user("kept", "b4"),
    ];
    assert.deepEqual(splitLive(messages, "b1"), { history: messages.slice(0, 1), live: messages.slice(1) });
    assert.deepEqual(splitLive(messages, "zz"), { history: messages, live: [] });
  });
});
