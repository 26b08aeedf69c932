import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { unmatched } from "../../../packages/lossless/src/volatile-input.ts";
import { answer, input } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { Drive, texts } from "./drive.ts";

const names = fc.constantFrom("read", "write", "unknown", "", null);
const message: fc.Arbitrary<AgentMessage> = fc.oneof(
  fc.constantFrom("yes", "no", "again").map((content): AgentMessage => ({ role: "user", content })),
  fc.record({ id: fc.constantFrom("a", "b"), name: names }).map(({ id, name }): AgentMessage => ({
    role: "toolResult",
    toolCallId: id,
    toolName: name as string,
    content: [{ type: "text", text: "done" }],
    isError: false,
  })),
);

function same(one: AgentMessage, other: AgentMessage): boolean {
  if (one.role === "user" || other.role === "user")
    return one.role === other.role && one.content === other.content;
  if (one.role !== "toolResult" || other.role !== "toolResult" || one.toolCallId !== other.toolCallId)
    return false;
  const open = (name: unknown): boolean => name === null || name === "" || name === "unknown";
  return open(one.toolName) || open(other.toolName) || one.toolName === other.toolName;
}

/** Maximum number of pairs, by brute force. */
function mostPairs(live: readonly AgentMessage[], held: readonly AgentMessage[]): number {
  const [first, ...rest] = live;
  if (!first) return 0;
  let most = mostPairs(rest, held);
  for (const [index, candidate] of held.entries()) {
    if (!same(first, candidate)) continue;
    most = Math.max(most, 1 + mostPairs(rest, held.toSpliced(index, 1)));
  }
  return most;
}

test("as many live messages as possible are recognized, each stored message at most once", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 5 }), fc.array(message, { maxLength: 5 }), (live, held) => {
      const left = unmatched(live, held);
      assert.equal(live.length - left.length, mostPairs(live, held));
      assert.ok(left.every((item) => live.includes(item)));
    }),
  );
});

test("a live message without an entry stays in place until the epoch ends, and equal texts stay separate", async () => {
  const drive = new Drive({ budget: 20_000 });
  try {
    for (let index = 0; index < 3; index += 1) {
      const turnId = drive.begin({ role: "user", content: "yes" });
      drive.volatile.push({
        message: { role: "user", content: "yes" },
        after: drive.transcript.entries.at(-1)?.id,
      });
      const sent = await drive.call(turnId);
      assert.equal(texts(sent.messages).split('"yes"').length - 1, 2 * (index + 1));
      drive.append(turnId, answer(index));
      await drive.commit(turnId);
    }
    await drive.restart();
    const turnId = drive.begin(input(9));
    const sent = await drive.call(turnId);
    assert.equal(texts(sent.messages).split('"yes"').length - 1, 6);
  } finally {
    await drive.end();
  }
});
