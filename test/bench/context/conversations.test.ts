import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readConversations } from "../../../bench/context/recall/conversations.ts";
import { talkBaselines } from "../../../bench/context/recall/talk-baselines.ts";
import type { AgentMessage } from "../../../packages/contract/src/message.ts";

const RECORDED = {
  conversation: {
    speaker_a: "Ann",
    speaker_b: "Ben",
    session_1_date_time: "1:56 pm on 8 May, 2023",
    session_1: [
      { speaker: "Ann", dia_id: "D1:1", text: "We bought a boat." },
      { speaker: "Ben", dia_id: "D1:2", text: "How long is it?" },
    ],
    session_2_date_time: "12:05 am on 25 May, 2023",
    session_2: [{ speaker: "Ben", dia_id: "D2:1", text: "I paint herons." }],
  },
  qa: [
    { question: "What do they have?", category: 1, evidence: ["D1:1; D2:1"] },
    { question: "When?", category: 2, evidence: ["D2:1"] },
    { question: "Who sank?", category: 5, evidence: ["D1:1"] },
    { question: "Nothing known", category: 4, evidence: [] },
  ],
};

test("conversations have their dates, authors and the evidence of each question", () => {
  const folder = mkdtempSync(join(tmpdir(), "conversations-"));
  try {
    const file = join(folder, "talk.json");
    writeFileSync(file, JSON.stringify(Array.from({ length: 7 }, () => RECORDED)));
    const tuning = readConversations(file, "tuning");
    assert.deepEqual(
      readConversations(file, "reporting").map(({ name }) => name),
      ["conversation 6", "conversation 7"],
    );
    assert.equal(tuning.length, 5);
    assert.deepEqual(
      tuning[0]?.messages.map(({ role, timestamp = 0 }) => [role, new Date(timestamp).toISOString()]),
      [
        ["user", "2023-05-08T13:57:00.000Z"],
        ["assistant", "2023-05-08T13:58:00.000Z"],
        ["assistant", "2023-05-25T00:06:00.000Z"],
      ],
    );
    assert.deepEqual(tuning[0]?.questions, [
      {
        category: "several places",
        text: "What do they have?",
        gold: ["We bought a boat.", "I paint herons."],
      },
      { category: "time", text: "When?", gold: ["I paint herons."] },
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const HOUR = 3_600_000;
const TALK: AgentMessage[] = [
  { role: "user", content: "The lamp is red.", timestamp: 0 },
  {
    role: "assistant",
    content: [{ type: "text", text: "A heron lamp, nice." }],
    stopReason: "stop",
    timestamp: 1,
  },
  { role: "user", content: "Nothing else.", timestamp: 5 * HOUR },
  { role: "user", content: "The lamp is heavy and old and it stands near the window.", timestamp: 9 * HOUR },
  {
    role: "assistant",
    content: [{ type: "text", text: "A lamp?" }],
    stopReason: "stop",
    timestamp: 9 * HOUR + 1,
  },
];

async function texts(name: string, question: string): Promise<string[]> {
  const recaller = talkBaselines().find((each) => each.name === name);
  assert.ok(recaller, name);
  await recaller.index(TALK);
  return (await recaller.recall(question, 1_000)).map(({ text }) => text);
}

test("the baselines for conversations rank turns, sessions and the user's messages", async () => {
  const first = "The lamp is red.\nA heron lamp, nice.";
  assert.equal((await texts("BM25, turns", "heron"))[0], first);
  assert.equal((await texts("BM25, turns", "heron")).length, 1);
  // A fusion orders every turn.
  assert.deepEqual([...(await texts("turn x session", "heron"))].slice(0, 1), [first]);
  assert.equal((await texts("turn x session", "heron")).length, 3);
  const users = await texts("user messages first", "lamp");
  assert.deepEqual(users.slice(0, 1), ["The lamp is red."]);
  assert.equal(users.at(-1), "A heron lamp, nice.");
  assert.equal(users.length, 4);
});
