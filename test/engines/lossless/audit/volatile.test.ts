import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../../src/contract/message.ts";
import { unmatched } from "../../../../src/engines/lossless/volatile.ts";
import { answer, input } from "../../../../src/testkit/engine/conversation.ts";
import { Drive, texts } from "../drive.ts";

const name = fc.constantFrom<unknown>("read", "write", "unknown", "", null, undefined);
/** Calls of one shape: they differ in the names alone. */
const calls: fc.Arbitrary<AgentMessage> = fc.tuple(name, name).map(([one, other]) => ({
  role: "assistant",
  content: [
    { type: "toolCall", id: "a", name: one as string, arguments: {} },
    { type: "toolCall", id: "b", name: other as string, arguments: {} },
  ],
}));
const said: fc.Arbitrary<AgentMessage> = fc
  .constantFrom("yes", "no")
  .map((content) => ({ role: "user", content }));
const list = fc.array(fc.oneof(calls, said), { maxLength: 5 });

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

/** Most pairs, by trying every choice. */
function mostPairs(given: readonly AgentMessage[], held: readonly AgentMessage[]): number {
  const [first, ...rest] = given;
  if (!first) return 0;
  const without = mostPairs(rest, held);
  return held.reduce(
    (most, candidate, index) =>
      same(first, candidate) ? Math.max(most, 1 + mostPairs(rest, held.toSpliced(index, 1))) : most,
    without,
  );
}

test("calls whose names were lost on the way are recognized, as many as possible, each entry once", () => {
  fc.assert(
    fc.property(list, list, (given, held) => {
      const left = unmatched(given, held);
      const pairs = given.length - left.length;
      assert.equal(pairs, mostPairs(given, held));
      assert.equal(held.length - unmatched(held, given).length, pairs);
      assert.deepEqual(unmatched(given, []), given);
      assert.deepEqual(unmatched(given, given), []);
      // Those that stay are the very objects, in their order.
      assert.deepEqual(
        left,
        given.filter((message) => left.includes(message)),
      );
    }),
  );
});

test("thousands of equal messages are told apart by number, and the newest are the ones that no entry holds", () => {
  const many = (count: number, toolName: string): AgentMessage[] =>
    Array.from({ length: count }, (_, index) => ({
      role: "toolResult",
      toolCallId: "poll",
      toolName,
      content: [{ type: "text", text: "still running" }],
      isError: false,
      timestamp: index,
    }));
  const given = many(3_000, "poll");
  assert.deepEqual(unmatched(given, many(2_000, "poll")), given.slice(2_000));
  assert.equal(unmatched(given, many(400, "unknown")).length, 2_600);
  assert.equal(unmatched(given, many(3_000, "watch")).length, 3_000);
});

test("a live message is not swallowed by a summary or a request that says the same", async () => {
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
