/** Data that `writer.child.ts` writes, shared with the test. */
import type { MessageEntry } from "../../../../packages/contract/src/session/transcript.ts";
import type { NewNode } from "../../../../packages/lossless/src/store/store-types.ts";
import { messageEntry } from "./fixtures.ts";

export const TURN = 6;

function idOf(index: number, prefix: string): string {
  return prefix + index.toString().padStart(5, "0");
}

function entryAt(index: number, prefix: string): MessageEntry {
  const parent = index === 0 ? null : idOf(index - 1, prefix);
  const words = `${prefix}word${index} `.repeat(1 + (index % 40));
  if (index % 3 === 1) {
    const call = { type: "toolCall" as const, id: `c${index}`, name: "read", arguments: { path: words } };
    return messageEntry(idOf(index, prefix), parent, { role: "assistant", content: [call] });
  }
  return messageEntry(idOf(index, prefix), parent, words);
}

export function killedPath(count: number, prefix = "k"): MessageEntry[] {
  return Array.from({ length: count }, (_, index) => entryAt(index, prefix));
}

export function killedTurn(turn: number): MessageEntry[] {
  return Array.from({ length: TURN }, (_, index) => entryAt(turn * TURN + index, "k"));
}

export function killedNode(step: number): NewNode {
  return {
    nodeId: `n${step}`,
    sessionId: "s",
    kind: "leaf",
    depth: 0,
    firstEntryId: idOf(0, "k"),
    lastEntryId: idOf(step % 50, "k"),
    children: [],
    text: `Goal: step ${step}. `.repeat(30),
    tokens: 100,
    sourceTokens: 1_000,
    origin: "extractive",
    state: "prepared",
  };
}
