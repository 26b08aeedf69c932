import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { CodexBench, conversation, developerTexts } from "./codex-bench.ts";

describe("turns on the real Codex", () => {
  let bench: CodexBench | undefined;
  afterEach(() => bench?.end());

  it("use one thread within an epoch: each request begins with the one before it", async () => {
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

  for (const epoch of ["one", undefined])
    it(`an engine that fails to assemble (${epoch === undefined ? "no epochs" : "an epoch"}) leaves the turn its plain prompt, never the history twice`, async () => {
      bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
      let turn = 0;
      const pagurus = await bench.host({
        engine: {
          info: { id: "plain", name: "Plain" },
          ingest: async () => ({ ingested: true }),
          assemble: async ({ messages }) => {
            turn += 1;
            if (turn === 2) throw new Error("no idea");
            return {
              messages,
              estimatedTokens: 10,
              ...(epoch === undefined ? {} : { contextProjection: { mode: "thread_bootstrap", epoch } }),
            };
          },
          compact: async () => ({ ok: true, compacted: false }),
        },
      });
      await bench.ask(pagurus, "First?");
      const events = await bench.ask(pagurus, "Second?");
      const degraded = events.find((event) => event.type === "context.degraded");
      assert.ok(degraded?.type === "context.degraded" && degraded.stage === "assemble");
      const history = ["user: First?", "assistant: Answer 0."];
      assert.deepEqual(conversation(bench.request(1)), [...history, "user: Second?"]);
      if (epoch !== undefined) {
        const [one, two] = [0, 1].map((index) => bench?.request(index).body["prompt_cache_key"]);
        assert.equal(one, two, "the thread continues");
      }
      await bench.ask(pagurus, "Third?");
      const text = JSON.stringify(bench.request(2).body["input"]);
      for (const words of ["First?", "Answer 0.", "Second?", "Answer 1.", "Third?"])
        assert.equal(text.split(words).length, 2, words);
    });
});
