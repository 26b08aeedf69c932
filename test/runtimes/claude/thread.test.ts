import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AssembledContext } from "../../../src/contract/harness.ts";
import type { AgentMessage } from "../../../src/contract/message.ts";
import { bindingOf, standingOf, type ThreadState } from "../../../src/runtimes/claude/thread.ts";
import { extended, NOTHING_HELD } from "../../../src/native/held.ts";

const user = (words: string, entryId?: string): AgentMessage => ({
  role: "user",
  content: words,
  ...(entryId === undefined ? {} : { entryId }),
});
const said = (words: string): AgentMessage => ({
  role: "assistant",
  content: [{ type: "text", text: words }],
});

const IDENTITY = { epoch: "e", fingerprint: undefined, tools: "t", instructions: "i", model: "m" };
const HISTORY = [user("One?", "1"), said("One.")];

function context(messages: AgentMessage[], more: Partial<AssembledContext> = {}): AssembledContext {
  return { system: "", messages, historyCount: messages.length - 1, estimatedTokens: 0, ...more };
}

function bound(state: Partial<ThreadState> = {}) {
  return bindingOf("native", { ...IDENTITY, held: extended(NOTHING_HELD, HISTORY), ...state });
}

const NEXT = context([...HISTORY, user("Two?", "2")]);

describe("A session of Claude Code", () => {
  it("goes on with what it lacks of a context that begins as it does", () => {
    const standing = standingOf(bound(), IDENTITY, NEXT, false);
    assert.ok(standing.bound);
    assert.deepEqual(standing.lacking, [user("Two?", "2")]);
  });

  it("does not where the context, or what it was made for, is another", () => {
    for (const field of ["epoch", "fingerprint", "tools", "instructions", "model"] as const)
      assert.ok(!standingOf(bound(), { ...IDENTITY, [field]: "other" }, NEXT, false).bound, field);
    const other = context([user("Another."), said("One."), user("Two?")]);
    assert.ok(!standingOf(bound(), IDENTITY, other, false).bound);
    assert.ok(!standingOf(bound({ openTurn: "t" }), IDENTITY, NEXT, false).bound, "a turn that did not end");
    assert.ok(!standingOf(undefined, IDENTITY, NEXT, false).bound);
  });

  it("is told the live turn alone where the engine could not be asked", () => {
    const fragment: AgentMessage = { role: "user", content: "f", fragment: { key: "k", kind: "untrusted" } };
    const plain = context([user("Told in another way."), said("One."), fragment, user("Two?")], {
      degraded: "it failed",
    });
    const standing = standingOf(
      bound(),
      { ...IDENTITY, epoch: undefined, instructions: "plain" },
      plain,
      false,
    );
    assert.ok(standing.bound);
    assert.deepEqual(standing.lacking, [fragment, user("Two?")]);
  });

  it("that keeps its context lacks what was said since its anchor", () => {
    const binding = bindingOf("native", { ...IDENTITY, anchor: "1" });
    const standing = standingOf(binding, { ...IDENTITY, model: "other" }, NEXT, true);
    assert.ok(standing.bound);
    assert.deepEqual(standing.lacking, [said("One."), user("Two?", "2")]);
    assert.ok(!standingOf(bindingOf("native", { ...IDENTITY, anchor: "9" }), IDENTITY, NEXT, true).bound);
  });
});
