import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { Recorded } from "../../../packages/gateway/src/wrap/recorded.ts";

const user = (text: string): AgentMessage => ({ role: "user", content: [{ type: "text", text }] });
const call = (id: string, of: string): AgentMessage => ({
  role: "assistant",
  content: [{ type: "toolCall", id, name: "t", arguments: { of } }],
});
const result = (id: string, text: string): AgentMessage => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "t",
  content: [{ type: "text", text }],
  isError: false,
});

describe("recorded messages of a turn", () => {
  it("are not new when the program repeats them, and later ones are", () => {
    const recorded = new Recorded();
    const live = [user("go on"), call("c1", "a"), result("c1", "one")];
    recorded.note(live[0] ?? user(""));
    recorded.note(live[1] ?? user(""));
    assert.deepEqual([...recorded.openCalls], ["c1"]);
    assert.deepEqual(recorded.fresh(live), [live[2]]);
    recorded.note(result("c1", "one"));
    assert.deepEqual(recorded.fresh([...live, user("go on")]), [user("go on")]);
    assert.equal(recorded.openCalls.size, 0);
  });

  it("have a round of their own for each use of a call's id", () => {
    const recorded = new Recorded();
    const rounds = [
      call("call_0", "a"),
      result("call_0", "one"),
      call("call_0", "b"),
      result("call_0", "two"),
    ];
    const live = [user("go on"), ...rounds];
    for (const message of live.slice(0, 4)) recorded.note(message);
    assert.deepEqual([...recorded.openCalls], ["call_0"], "the second use has no result yet");
    assert.deepEqual(recorded.fresh(live), [rounds[3]]);
    recorded.note(result("call_0", "two"));
    assert.deepEqual(recorded.fresh(live), []);
    assert.deepEqual(recorded.fresh([...live, call("call_0", "c")]), [call("call_0", "c")]);
  });
});
