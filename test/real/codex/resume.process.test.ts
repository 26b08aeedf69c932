/** A restarted host continues the session's thread: the same prefix, the same cache key, nothing twice. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { CodexBench, conversation } from "./codex-bench.ts";

const PAGE = { value: "The page shows a harbour.", kind: "untrusted" as const };
const RULE = { value: "Answer in one line.", kind: "application" as const };

for (const slot of ["lossless", "legacy"])
  describe(`a session under ${slot} that another host continues`, () => {
    let bench: CodexBench;
    afterEach(() => bench.end());

    it("stays on its thread: each request begins with the one before it", async () => {
      bench = await CodexBench.with((_request, index) =>
        index === 0 || index === 3
          ? {
              text: "I look.",
              toolCalls: [{ id: `call_${index}`, name: "exec_command", arguments: { cmd: "echo harbour" } }],
            }
          : { text: `Answer ${index}.` },
      );
      const first = await bench.host({ slot });
      await bench.ask(first, "First?");
      await bench.ask(first, "Second?");
      await first.close();
      const second = await bench.host({ slot });
      await bench.ask(second, "Third?");
      await bench.ask(second, "Fourth?");
      await second.close();
      const third = await bench.host({ slot });
      await bench.ask(third, "Fifth?");
      const keys = new Set(bench.server.requests.map(({ body }) => body["prompt_cache_key"]));
      assert.equal(keys.size, 1, "one thread");
      for (let index = 1; index < bench.server.requests.length; index += 1) {
        const old = bench.request(index - 1).body["input"] as unknown[];
        const now = bench.request(index).body["input"] as unknown[];
        assert.deepEqual(now.slice(0, old.length), old, `request ${index}`);
      }
      const seen = conversation(bench.request(-1)).map((line) =>
        line.startsWith("result") ? (line.split(" ")[1] ?? "") : line,
      );
      assert.deepEqual(seen, [
        "user: First?",
        "assistant: I look.",
        "call exec_command call_0",
        "call_0",
        "assistant: Answer 1.",
        "user: Second?",
        "assistant: Answer 2.",
        "user: Third?",
        "assistant: I look.",
        "call exec_command call_3",
        "call_3",
        "assistant: Answer 4.",
        "user: Fourth?",
        "assistant: Answer 5.",
        "user: Fifth?",
      ]);
    });

    it("has the resumed thread's turn in its transcript, with the texts and outputs that the model saw", async () => {
      bench = await CodexBench.with((_request, index) =>
        index === 1
          ? {
              thinking: { text: "Hm." },
              text: "I look.",
              toolCalls: [
                { id: "a", name: "exec_command", arguments: { cmd: "echo harbour" } },
                { id: "b", name: "exec_command", arguments: { cmd: "exit 3" } },
              ],
              usage: { input: 70, output: 11, cacheRead: 30 },
            }
          : { text: `Answer ${index}.` },
      );
      const first = await bench.host({ slot });
      await bench.ask(first, "First?");
      await first.close();
      const second = await bench.host({ slot });
      const events = await bench.ask(second, "Second?");
      const messages = events.flatMap((event) => (event.type === "message" ? [event.message] : []));
      assert.deepEqual(
        messages.map(({ role }) => role),
        ["user", "assistant", "toolResult", "toolResult", "assistant"],
      );
      const [, call, ...results] = messages;
      assert.ok(call?.role === "assistant" && call.stopReason === "toolUse");
      assert.deepEqual(
        call.content.filter(({ type }) => type !== "thinking").map((part) => part.type),
        ["text", "toolCall", "toolCall"],
      );
      assert.deepEqual(call.usage, {
        input: 70,
        output: 11,
        cacheRead: 30,
        cacheWrite: 0,
        reasoning: 0,
        totalTokens: 111,
      });
      const outputs = results.flatMap((message) =>
        message.role === "toolResult" ? [[message.toolCallId, message.isError]] : [],
      );
      assert.deepEqual(
        new Map(outputs as [string, boolean][]),
        new Map([
          ["a", false],
          ["b", true],
        ]),
      );
      const shown = conversation(bench.request(-1)).filter((line) => line.startsWith("result"));
      for (const message of results.slice(0, 2)) {
        assert.ok(message.role === "toolResult");
        const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
        assert.ok(shown.includes(`result ${message.toolCallId} ${text}`), shown.join("\n"));
      }
    });

    it("does not send additional context again that the thread has, and sends what is new", async () => {
      bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
      const first = await bench.host({ slot });
      await bench.ask(first, "First?", { additionalContext: { page: PAGE } });
      await first.close();
      const second = await bench.host({ slot });
      await bench.ask(second, "Second?", { additionalContext: { page: PAGE, rule: RULE } });
      await bench.ask(second, "Third?", { additionalContext: { page: PAGE, rule: RULE } });
      const text = JSON.stringify(bench.request(-1).body["input"]);
      assert.equal(text.split(PAGE.value).length, 2, "the page once");
      assert.equal(text.split(RULE.value).length, 2, "the rule once");
      assert.equal(new Set(bench.server.requests.map(({ body }) => body["prompt_cache_key"])).size, 1);
    });
  });

describe("many sessions on one child", () => {
  let bench: CodexBench;
  afterEach(() => bench.end());

  it("are unloaded when others were used since, and continue their threads all the same", async () => {
    bench = await CodexBench.with((_request, index) => ({ text: `Answer ${index}.` }));
    const pagurus = await bench.host();
    const keys = Array.from({ length: 20 }, (_, index) => `session-${index}`);
    for (const sessionKey of keys) await bench.ask(pagurus, `Here is ${sessionKey}.`, { sessionKey });
    for (const [index, number] of [0, 19].entries()) {
      await bench.ask(pagurus, "And now?", { sessionKey: `session-${number}` });
      const [before, now] = [bench.request(number), bench.request(20 + index)];
      assert.equal(now.body["prompt_cache_key"], before.body["prompt_cache_key"]);
      assert.deepEqual(conversation(now), [
        `user: Here is session-${number}.`,
        `assistant: Answer ${number}.`,
        "user: And now?",
      ]);
    }
    const [first] = await pagurus.context.receipts({ sessionKey: "session-0" });
    assert.ok(first);
    const reader = pagurus.sessions().openReader("session-0");
    assert.equal(reader.contextMessages().messages.length, 4, "recorded once, from the thread's file");
    reader.close();
  });
});
