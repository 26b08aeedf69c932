import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { ClaudeTurnMirror } from "../../../packages/runtimes/src/claude/claude-mirror.ts";

function mirror(): {
  mirror: ClaudeTurnMirror;
  lines: string[];
  messages: AgentMessage[];
  answers: unknown[];
} {
  const lines: string[] = [];
  const messages: AgentMessage[] = [];
  const answers: unknown[] = [];
  const made = new ClaudeTurnMirror(
    { provider: "p", model: "m" },
    {
      message: (message) => {
        messages.push(message);
        lines.push(lineOf(message));
      },
      delta: () => undefined,
      called: ({ name }) => lines.push(`called ${name}`),
      answered: (usage, reason) => answers.push([usage, reason]),
    },
  );
  return { mirror: made, lines, messages, answers };
}

function lineOf(message: AgentMessage): string {
  const parts = typeof message.content === "string" ? [] : message.content;
  const texts = parts.map((part) =>
    part.type === "text" ? part.text : part.type === "toolCall" ? `(${part.name})` : part.type,
  );
  return `${message.role} ${texts.join(" ")}`;
}

const usage = {
  input_tokens: 10,
  cache_read_input_tokens: 5,
  cache_creation_input_tokens: 0,
  output_tokens: 1,
};

function starts(made: ClaudeTurnMirror, id: string): void {
  made.stream({ type: "message_start", message: { id, usage } });
}

function says(made: ClaudeTurnMirror, words: string): void {
  made.stream({ type: "content_block_start", content_block: { type: "text", text: "" } });
  made.stream({ type: "content_block_delta", delta: { type: "text_delta", text: words } });
}

function calls(made: ClaudeTurnMirror, answer: string, id: string): void {
  made.stream({
    type: "content_block_start",
    content_block: { type: "tool_use", id, name: "mcp__pagurus__note", input: {} },
  });
  made.stream({ type: "content_block_delta", delta: { type: "input_json_delta", partial_json: '{"word":' } });
  made.stream({ type: "content_block_delta", delta: { type: "input_json_delta", partial_json: '"w"}' } });
  made.whole({ id: answer, content: [] });
}

function stops(made: ClaudeTurnMirror, reason = "end_turn"): void {
  made.stream({ type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 7 } });
  made.stream({ type: "message_stop" });
}

const done = (id: string) => [{ type: "tool_result", tool_use_id: id, content: "done" }];

describe("The mirror of a turn on Claude Code", () => {
  it("has an answer with its usage, its calls under the host's names, then their results", () => {
    const { mirror: made, lines, messages, answers } = mirror();
    starts(made, "one");
    says(made, "I look.");
    made.whole({ id: "one", content: [] });
    calls(made, "one", "a");
    made.results(done("a"));
    stops(made, "tool_use");
    assert.deepEqual(lines, ["called note", "assistant I look. (note)", "toolResult done"]);
    const expected = { input: 10, output: 7, cacheRead: 5, cacheWrite: 0, totalTokens: 22 };
    assert.deepEqual(answers, [[expected, "tool_use"]]);
    const [answer] = messages;
    assert.ok(answer?.role === "assistant" && answer.stopReason === "toolUse");
    assert.deepEqual(answer.content[1], {
      type: "toolCall",
      id: "a",
      name: "note",
      arguments: { word: "w" },
    });
    assert.ok(made.isAtRest);
  });

  it("drops the incomplete blocks of an answer that broke off, and keeps the complete ones", () => {
    const { mirror: made, lines } = mirror();
    starts(made, "one");
    says(made, "Whole.");
    made.whole({ id: "one", content: [] });
    says(made, "Half of");
    made.retry();
    starts(made, "two");
    says(made, "Half of");
    made.stream({ type: "message_stop" }, 0);
    starts(made, "three");
    says(made, "Again.");
    made.whole({ id: "three", content: [] });
    stops(made);
    assert.deepEqual(lines, ["assistant Whole.", "assistant Again."]);
  });

  it("keeps what streamed when the turn is aborted, and closes open calls", () => {
    const { mirror: made, lines } = mirror();
    starts(made, "one");
    calls(made, "one", "a");
    stops(made, "tool_use");
    starts(made, "two");
    says(made, "Half of");
    made.end("aborted");
    assert.deepEqual(lines.slice(0, 3), ["called note", "assistant (note)", "assistant Half of"]);
    assert.match(lines[3] ?? "", /^toolResult The turn ended before/);
  });

  it("does not take an interruption for a refusal: the effect of the call is unknown", () => {
    const { mirror: made, lines } = mirror();
    starts(made, "one");
    calls(made, "one", "a");
    calls(made, "one", "b");
    stops(made, "tool_use");
    const refused =
      "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. ...).";
    made.results([{ type: "tool_result", tool_use_id: "a", content: refused, is_error: true }]);
    made.results([{ type: "tool_result", tool_use_id: "b", content: refused }]);
    made.end("aborted");
    const [known, unknown] = lines.slice(3);
    assert.equal(known, `toolResult ${refused}`, "words of a command stay what they are");
    assert.match(unknown ?? "", /^toolResult The turn ended before this tool call finished; its outcome/);
  });

  it("accepts an answer that was not streamed, once", () => {
    const { mirror: made, lines } = mirror();
    const answer = { id: "one", content: [{ type: "text", text: "All at once." }], usage };
    made.whole(answer);
    made.whole(answer);
    assert.deepEqual(lines, ["assistant All at once."]);
  });
});
