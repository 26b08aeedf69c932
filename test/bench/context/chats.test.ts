/** Recorded conversations become cases: messages with authors and times, questions with the words of their evidence. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readChats } from "../../../bench/context/recall/conversations.ts";

function chat(word: string): string {
  const line = (number: number, speaker: string, clean_text: string): object => ({
    speaker,
    clean_text,
    dia_id: `D1:${number}`,
    date_time: `0${number}.01.2024, 22:42:04`,
  });
  return JSON.stringify({
    name: "x",
    session_1: [line(1, "Ada", `I saw a ${word}.`), line(2, "Bo", "Where?")],
    events_session_1: {},
    session_2: [line(3, "Bo", "")],
    qa: [
      { question: "What did Ada see?", answer: word, evidence: ["D1:1; D1:2"], category: 1 },
      { question: "Without evidence?", answer: "", evidence: [], category: 1 },
    ],
  });
}

test("chats of people are read by their numbers, with each author's name and the time of each message", () => {
  const folder = mkdtempSync(join(tmpdir(), "pagurus-chats-"));
  try {
    for (const number of [1, 2, 3, 4, 5, 6, 10])
      writeFileSync(join(folder, `Chat_${number}_Ada_Bo.json`), chat(`ship ${number}`));
    writeFileSync(join(folder, "README.json"), "{}");
    assert.deepEqual(
      readChats(folder, "reporting").map(({ name }) => name),
      ["chat 6", "chat 10"],
    );
    const [first] = readChats(folder, "tuning");
    assert.deepEqual(first?.messages, [
      {
        role: "user",
        content: "Ada: I saw a ship 1.",
        entryId: "D1:1",
        timestamp: Date.UTC(2024, 0, 1, 22, 42, 4),
      },
      {
        role: "assistant",
        content: [{ type: "text", text: "Bo: Where?" }],
        stopReason: "stop",
        entryId: "D1:2",
        timestamp: Date.UTC(2024, 0, 2, 22, 42, 4),
      },
      {
        role: "assistant",
        content: [{ type: "text", text: "Bo: (a photo)" }],
        stopReason: "stop",
        entryId: "D1:3",
        timestamp: Date.UTC(2024, 0, 3, 22, 42, 4),
      },
    ]);
    assert.deepEqual(first?.questions, [
      { category: "several places", text: "What did Ada see?", gold: ["Ada: I saw a ship 1.", "Bo: Where?"] },
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
