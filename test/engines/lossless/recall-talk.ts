/** Conversations whose first turn has a fact that is out of sight later. */
import assert from "node:assert/strict";
import type { AgentMessage, UserMessage } from "../../../packages/contract/src/message.ts";
import { textOf } from "../../../packages/core/src/compaction/message-text.ts";
import { isRecallBlock } from "../../../packages/contract/src/engine/recall-block.ts";
import { answer } from "../../../packages/testkit/src/engine/scripted-conversation.ts";
import { Drive, type DriveOptions, type Sent } from "./drive.ts";

export const BUDGET = 6_000;
export const FACT = "My dentist is Doctor Halvorsen, her practice is behind the old tannery.";
export const QUESTION = "Where is the practice of my dentist Halvorsen?";
export const CHAT = "The weather was fine today, and we walked along the river for an hour or two. ".repeat(
  4,
);

/** A made word that no other index has. */
export function word(index: number): string {
  const syllables = ["bav", "del", "fir", "gom", "kul", "lem", "nis", "pon", "rud", "sif"];
  const [first, second, third] = [index, index / 10, index / 100].map((at) => syllables[Math.floor(at) % 10]);
  return `${first}o${second}a${third}`;
}

export function user(content: string): AgentMessage {
  return { role: "user", content };
}

/** A conversation whose first turn has the fact, long enough that it is out of sight. */
export async function longTalk(options: DriveOptions = {}): Promise<Drive> {
  const drive = new Drive({ budget: BUDGET, ...options });
  await drive.turn(user(FACT), [], answer(0));
  for (let index = 1; index <= 40; index += 1)
    await drive.turn(user(`Day ${index}. ${CHAT}`), [], answer(index));
  assert.ok(drive.compactions > 0);
  return drive;
}

export function blocksOf({ messages }: Pick<Sent, "messages">): string[] {
  return messages.map((message) => textOf(message)).filter((text) => isRecallBlock(text));
}

export async function ask(
  drive: Drive,
  content: UserMessage["content"],
): Promise<{ turnId: string; sent: Sent }> {
  const turnId = drive.begin({ role: "user", content });
  return { turnId, sent: await drive.call(turnId) };
}
