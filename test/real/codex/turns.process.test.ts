import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { CodexBench, conversation, developerTexts } from "./codex-bench.ts";

describe("turns on the real Codex", () => {
  let bench: CodexBench | undefined;
  after(() => bench?.end());

  it("go on one thread within an epoch: each request begins with the one before it", async () => {
    bench = await CodexBench.with((_request, index) =>
      index === 0
        ? {
            text: "I look.",
            toolCalls: [{ id: "call_1", name: "exec_command", arguments: { cmd: "echo harbour" } }],
          }
        : { text: `Answer ${index}.` },
    );
    const pagurus = await bench.host();
    const events = await bench.ask(pagurus, "First question");
    assert.ok(events.some((event) => event.type === "tool.completed" && event.toolName === "exec_command"));
    await bench.ask(pagurus, "Second question");
    await bench.ask(pagurus, "Third question");
    const lines = conversation(bench.request(3));
    assert.deepEqual(
      lines.map((line) => line.split("\n")[0]),
      [
        "user: First question",
        "assistant: I look.",
        "call exec_command call_1",
        lines[3]?.split("\n")[0],
        "assistant: Answer 1.",
        "user: Second question",
        "assistant: Answer 2.",
        "user: Third question",
      ],
    );
    assert.match(lines[3] ?? "", /^result call_1 [\s\S]*harbour/);
    const keys = new Set(bench.server.requests.map(({ body }) => body["prompt_cache_key"]));
    assert.equal(keys.size, 1, "one thread");
    for (let index = 1; index < bench.server.requests.length; index += 1) {
      const old = bench.request(index - 1).body["input"] as unknown[];
      const now = bench.request(index).body["input"] as unknown[];
      assert.deepEqual(now.slice(0, old.length), old, `request ${index}`);
    }
    assert.equal(
      developerTexts(bench.request(3)).filter((text) => text.includes("Working folder:")).length,
      1,
    );
  });
});
