import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AssembledContext } from "../../../packages/contract/src/harness/harness.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import {
  bindingOf,
  checkClaudeBinding,
  type ClaudeThreadState,
} from "../../../packages/runtimes/src/claude/claude-thread.ts";
import { extended, NOTHING_HELD } from "../../../packages/runtimes/src/thread/thread-state.ts";

const user = (words: string, entryId?: string): AgentMessage => ({
  role: "user",
  content: words,
  ...(entryId === undefined ? {} : { entryId }),
});
const assistant = (words: string): AgentMessage => ({
  role: "assistant",
  content: [{ type: "text", text: words }],
});

const IDENTITY = { epoch: "e", fingerprint: undefined, tools: "t", instructions: "i", model: "m" };
const HISTORY = [user("One?", "1"), assistant("One.")];

function context(messages: AgentMessage[], more: Partial<AssembledContext> = {}): AssembledContext {
  return { system: "", messages, historyCount: messages.length - 1, estimatedTokens: 0, ...more };
}

function bound(state: Partial<ClaudeThreadState> = {}) {
  return bindingOf("native", { ...IDENTITY, held: extended(NOTHING_HELD, HISTORY), ...state });
}

const NEXT = context([...HISTORY, user("Two?", "2")]);

describe("A session of Claude Code", () => {
  it("continues with what it lacks of a context that extends its own", () => {
    const check = checkClaudeBinding(bound(), IDENTITY, NEXT, false);
    assert.ok(check.bound);
    assert.deepEqual(check.lacking, [user("Two?", "2")]);
  });

  it("is replaced when the context, or its identity, differs", () => {
    for (const field of ["epoch", "fingerprint", "tools", "instructions", "model"] as const)
      assert.ok(!checkClaudeBinding(bound(), { ...IDENTITY, [field]: "other" }, NEXT, false).bound, field);
    const other = context([user("Another."), assistant("One."), user("Two?")]);
    assert.ok(!checkClaudeBinding(bound(), IDENTITY, other, false).bound);
    assert.ok(
      !checkClaudeBinding(bound({ openTurn: "t" }), IDENTITY, NEXT, false).bound,
      "a turn that did not end",
    );
    assert.ok(!checkClaudeBinding(undefined, IDENTITY, NEXT, false).bound);
  });

  it("gets the live turn alone when the engine could not be called", () => {
    const fragment: AgentMessage = { role: "user", content: "f", fragment: { key: "k", kind: "untrusted" } };
    const plain = context([user("Told in another way."), assistant("One."), fragment, user("Two?")], {
      degraded: "it failed",
    });
    const check = checkClaudeBinding(
      bound(),
      { ...IDENTITY, epoch: undefined, instructions: "plain" },
      plain,
      false,
    );
    assert.ok(check.bound);
    assert.deepEqual(check.lacking, [fragment, user("Two?")]);
  });

  it("that keeps its context lacks the messages since its anchor", () => {
    const binding = bindingOf("native", { ...IDENTITY, anchor: "1" });
    const check = checkClaudeBinding(binding, { ...IDENTITY, model: "other" }, NEXT, true);
    assert.ok(check.bound);
    assert.deepEqual(check.lacking, [assistant("One."), user("Two?", "2")]);
    assert.ok(
      !checkClaudeBinding(bindingOf("native", { ...IDENTITY, anchor: "9" }), IDENTITY, NEXT, true).bound,
    );
  });
});
