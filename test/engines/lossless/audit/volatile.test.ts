import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../../packages/contract/src/message.ts";
import { unmatched } from "../../../../packages/lossless/src/volatile-input.ts";
import { answer, input } from "../../../../packages/testkit/src/engine/scripted-conversation.ts";
import { Drive, texts } from "../drive.ts";
import { longTest } from "../../../runner/long-tests.ts";

const name = fc.constantFrom<unknown>("read", "write", "unknown", "", null, undefined);
/** Calls that differ only in their names. */
const calls: fc.Arbitrary<AgentMessage> = fc.tuple(name, name).map(([one, other]) => ({
  role: "assistant",
  content: [
    { type: "toolCall", id: "a", name: one as string, arguments: {} },
    { type: "toolCall", id: "b", name: other as string, arguments: {} },
  ],
}));
const plain: fc.Arbitrary<AgentMessage> = fc
  .constantFrom("yes", "no")
  .map((content) => ({ role: "user", content }));
const list = fc.array(fc.oneof(calls, plain), { maxLength: 5 });

function isOpen(value: unknown): boolean {
  return value === null || value === undefined || value === "" || value === "unknown";
}

function same(one: AgentMessage, other: AgentMessage): boolean {
  if (one.role === "user" || other.role === "user") return one.content === other.content;
  if (one.role !== "assistant" || other.role !== "assistant") return false;
  return one.content.every((part, index) => {
    const against = other.content[index];
    if (part.type !== "toolCall" || against?.type !== "toolCall") return false;
    return isOpen(part.name) || isOpen(against.name) || part.name === against.name;
  });
}

/** Maximum number of pairs, by brute force. */
function mostPairs(live: readonly AgentMessage[], held: readonly AgentMessage[]): number {
  const [first, ...rest] = live;
  if (!first) return 0;
  const without = mostPairs(rest, held);
  return held.reduce(
    (most, candidate, index) =>
      same(first, candidate) ? Math.max(most, 1 + mostPairs(rest, held.toSpliced(index, 1))) : most,
    without,
  );
}

test("calls with lost names are recognized, as many as possible, each entry once", () => {
  fc.assert(
    fc.property(list, list, (live, held) => {
      const left = unmatched(live, held);
      const pairs = live.length - left.length;
      assert.equal(pairs, mostPairs(live, held));
      assert.equal(held.length - unmatched(held, live).length, pairs);
      assert.deepEqual(unmatched(live, []), live);
      assert.deepEqual(unmatched(live, live), []);
      // The remaining messages are the same objects, in their order.
      assert.deepEqual(
        left,
        live.filter((message) => left.includes(message)),
      );
    }),
  );
});

longTest(
  "thousands of equal messages are matched by number, and the newest are those without an entry",
  () => {
    const many = (count: number, toolName: string): AgentMessage[] =>
      Array.from({ length: count }, (_, index) => ({
        role: "toolResult",
        toolCallId: "poll",
        toolName,
        content: [{ type: "text", text: "still running" }],
        isError: false,
        timestamp: index,
      }));
    const live = many(3_000, "poll");
    assert.deepEqual(unmatched(live, many(2_000, "poll")), live.slice(2_000));
    assert.equal(unmatched(live, many(400, "unknown")).length, 2_600);
    assert.equal(unmatched(live, many(3_000, "watch")).length, 3_000);
  },
);

test("a live message is not dropped for a summary or a request with the same text", async () => {
  const words = "Use the northern berth for the Aurora.";
  const drive = new Drive({
    budget: 10_000,
    config: { trigger: 8_000, headTokens: 2_000, tailTokens: 1_500 },
  });
  try {
    for (let index = 0; index < 40; index += 1)
      await drive.turn(
        index === 3 ? { role: "user", content: words } : input(index, 60),
        [],
        answer(index, 120),
      );
    const times = (): number => texts(drive.sent.at(-1)?.messages ?? []).split(words).length - 1;
    assert.equal(times(), 1, "the head has the request");
    const turnId = drive.begin(input(90));
    drive.volatile.push({
      message: { role: "user", content: words },
      after: drive.transcript.entries.at(-1)?.id,
    });
    const sent = await drive.call(turnId);
    assert.equal(times(), 2);
    assert.equal(sent.messages.at(-1)?.content, words);
  } finally {
    await drive.end();
  }
});
