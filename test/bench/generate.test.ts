import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { generateTranscript, mulberry32 } from "../../bench/generate.ts";

test("the same seed gives the same transcript, another seed another one", () => {
  const first = JSON.stringify(generateTranscript({ seed: 7, messages: 60 }));
  assert.equal(JSON.stringify(generateTranscript({ seed: 7, messages: 60 })), first);
  assert.notEqual(JSON.stringify(generateTranscript({ seed: 8, messages: 60 })), first);
});

test("a transcript has as many messages as asked for and each tool call is followed by its result", () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 0, max: 60 }), (seed, messages) => {
      const transcript = generateTranscript({ seed, messages });
      assert.equal(transcript.length, messages);
      for (const [index, message] of transcript.entries()) {
        const before = transcript[index - 1];
        const call =
          before?.role === "assistant" ? before.content.find((part) => part.type === "toolCall") : undefined;
        assert.equal(message.role === "toolResult", call !== undefined);
        if (message.role === "toolResult") assert.equal(message.toolCallId, call?.id);
        if (message.role === "user") assert.ok(before === undefined || before.role === "assistant");
      }
      const last = transcript.at(-1);
      if (last?.role === "assistant") assert.equal(last.stopReason, "stop");
    }),
  );
});

test("messages are 1.6 KB each in the mean", () => {
  const transcript = generateTranscript({ seed: 1, messages: 2_000 });
  const size = transcript.reduce((sum, message) => sum + JSON.stringify(message.content).length, 0);
  const mean = size / transcript.length;
  assert.ok(mean > 1_400 && mean < 1_800, String(mean));
});

test("the generator of numbers is mulberry32", () => {
  const random = mulberry32(1);
  assert.deepEqual([random(), random()], [0.6270739405881613, 0.002735721180215478]);
});
