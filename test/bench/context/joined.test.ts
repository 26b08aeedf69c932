import assert from "node:assert/strict";
import { test } from "node:test";
import { joinCases } from "../../../bench/context/recall/joined.ts";
import type { RecallCase } from "../../../bench/context/recall/measure.ts";
import { textOfMessage } from "../../../packages/replay/src/prompt-blocks.ts";

const MINUTE = 60_000;

/** Messages by text and minute; their ids begin with 1 in each conversation. */
function talk(name: string, lines: readonly (readonly [string, number])[]): RecallCase {
  return {
    name,
    factor: 1,
    messages: lines.map(([content, minute], index) => ({
      role: "user",
      content,
      entryId: `D${index + 1}`,
      timestamp: minute * MINUTE,
    })),
    questions: [{ category: "time", text: `When, ${name}?`, gold: [lines[0]?.[0] ?? ""] }],
  };
}

test("joined conversations are one history of whole sittings by time, with unique ids and all the questions", () => {
  const boats = talk("boats", [
    ["We bought a boat.", 0],
    ["It leaks.", 30],
    ["It sank.", 200],
  ]);
  const herons = talk("herons", [
    ["I paint herons.", 10],
    ["They fly away.", 41],
    ["They are back.", 200],
  ]);
  const { messages, questions } = joinCases([boats, herons]);
  assert.deepEqual(
    messages.map((message) => [message.entryId, textOfMessage(message)]),
    [
      // A pause of 30 minutes does not end a sitting, one of 31 does.
      ["1-D1", "We bought a boat."],
      ["1-D2", "It leaks."],
      ["2-D1", "I paint herons."],
      ["2-D2", "They fly away."],
      // At the same time, the first conversation's comes first.
      ["1-D3", "It sank."],
      ["2-D3", "They are back."],
    ],
  );
  assert.deepEqual(questions, [...boats.questions, ...herons.questions]);
  assert.equal(boats.messages[0]?.entryId, "D1");
});
