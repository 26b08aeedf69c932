import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { AcpTurnMirror } from "../../../packages/runtimes/src/acp/acp-mirror.ts";

function mirror(): { made: AcpTurnMirror; lines(): string[] } {
  const messages: AgentMessage[] = [];
  const made = new AcpTurnMirror({ provider: "p", model: "m" }, (message) => messages.push(message));
  const lines = (): string[] =>
    messages.map((message) => {
      if (message.role === "toolResult") {
        const [part] = message.content;
        return `result ${message.toolCallId} ${part?.type === "text" ? part.text : ""}${message.isError ? " failed" : ""}`;
      }
      if (message.role !== "assistant") return message.role;
      const parts = message.content.map((part) =>
        part.type === "text"
          ? part.text
          : part.type === "thinking"
            ? `(${part.thinking})`
            : `call ${part.id}`,
      );
      return `${message.stopReason}: ${parts.join(" | ")}`;
    });
  return { made, lines };
}

function call(id: string): {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, unknown>;
} {
  return { type: "toolCall", id, name: "note", arguments: {} };
}

function result(text: string): { content: { type: "text"; text: string }[]; isError: boolean } {
  return { content: [{ type: "text", text }], isError: false };
}

describe("the mirror of an agent's turn", () => {
  it("joins the pieces of a message, and emits text, calls and results in order", () => {
    const { made, lines } = mirror();
    made.thought("Hm", "");
    made.thought("m.", "");
    made.words("I ", "m1");
    made.words("look.", "m1");
    made.call(call("a"));
    assert.deepEqual(lines(), [], "nothing is emitted before it is complete");
    made.result("a", result("wet"));
    made.words("It is wet.", "m2");
    made.end("stop");
    assert.deepEqual(lines(), ["toolUse: (Hmm.) | I look. | call a", "result a wet", "stop: It is wet."]);
    assert.equal(made.answers, 2);
  });

  it("takes words for another answer than the newest one's where its words or thoughts show it", () => {
    const { made } = mirror();
    assert.equal(made.mayBelong("m1"), true, "nothing is known of the answer");
    made.thought("Hm.", "m1");
    made.call(call("a"), true);
    assert.deepEqual(
      ["m1", "m2", ""].map((id) => made.mayBelong(id)),
      [true, false, false],
    );
    made.result("a", result("denied"));
    made.words("Then not.", "m2");
    assert.deepEqual(
      ["m1", "m2"].map((id) => made.mayBelong(id)),
      [false, true],
    );
    made.end("stop");
    assert.equal(made.mayBelong("m1"), true);
    made.words("Without ", "");
    assert.deepEqual(
      ["", "m1"].map((id) => made.mayBelong(id)),
      [true, false],
    );
    made.words("an id.", "");
    made.call(call("b"), true);
    assert.equal(made.mayBelong(""), false, "a call came between");
  });

  it("keeps the results of parallel calls with their answer", () => {
    const { made, lines } = mirror();
    made.call(call("a"));
    made.call(call("b"));
    made.result("b", result("second"));
    made.words("Early words.", "m2");
    made.result("a", result("first"));
    made.end("stop");
    assert.deepEqual(lines(), [
      "toolUse: call a | call b",
      "result b second",
      "result a first",
      "stop: Early words.",
    ]);
  });

  it("puts words that are reported after a call which ends their answer before it", () => {
    const { made, lines } = mirror();
    made.words("I ", "m1");
    made.call(call("a"), true);
    made.words("look.", "m1");
    made.call(call("b"), true);
    made.result("a", result("wet"));
    made.result("b", result("dry"));
    made.words("Done.", "m2");
    made.end("stop");
    assert.deepEqual(lines(), [
      "toolUse: I look. | call a | call b",
      "result a wet",
      "result b dry",
      "stop: Done.",
    ]);
  });

  it("closes calls without a result, and records how the turn ended", () => {
    const { made, lines } = mirror();
    made.words("I look", "m1");
    made.call(call("a"));
    made.end("aborted");
    assert.deepEqual(lines(), [
      "aborted: I look | call a",
      "result a The turn ended before this tool call finished; its outcome is unknown. failed",
    ]);
  });

  it("emits the text before steering input as a message of its own", () => {
    const { made, lines } = mirror();
    made.words("Half", "m1");
    made.split();
    made.words(" done.", "m1");
    made.end("stop");
    assert.deepEqual(lines(), ["stop: Half", "stop:  done."]);
  });

  it("drops text that only repeats the agent's error response", () => {
    const { made, lines } = mirror();
    made.words("API Error: 400", "");
    made.dropRepeated("Internal error: API Error: 400");
    made.end("error");
    assert.deepEqual(lines(), []);
  });

  it("accepts one result for a call", () => {
    const { made, lines } = mirror();
    made.call(call("a"));
    made.result("a", result("one"));
    made.result("a", result("two"));
    made.result("unknown", result("three"));
    made.end("stop");
    assert.deepEqual(lines(), ["toolUse: call a", "result a one"]);
  });
});
