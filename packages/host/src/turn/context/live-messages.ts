import type { AgentMessage } from "@pagurus/contract/message";
import { readSummary } from "@pagurus/contract/engine/summary";

/** Identity of a message without its entry id, for engines that copy messages and drop the id. */
function signature(message: AgentMessage): string {
  switch (message.role) {
    case "user": {
      const content = message.content;
      return JSON.stringify([
        "user",
        typeof content === "string" ? [{ type: "text", text: content }] : content,
      ]);
    }
    case "assistant":
      return JSON.stringify(["assistant", message.content]);
    case "toolResult":
      return JSON.stringify(["toolResult", message.toolCallId, message.content]);
  }
}

/**
 * Joins an engine's answer with the live turn: each live message is in the result once, at its end, in order, whether or not the engine
 * returned it. Source: the design's "The contract", `assemble.messages`.
 */
export function joinLive(
  answer: readonly AgentMessage[],
  live: readonly AgentMessage[],
  prompt?: string,
): AgentMessage[] {
  if (live.length === 0) return [...answer];
  const ids = new Set(live.map((message) => message.entryId));
  ids.delete(undefined);
  let unnamed: Map<string, number> | undefined;
  let atTail = true;
  const kept: AgentMessage[] = [];
  // Copies without an id are matched at the tail only: an equal message further up is history.
  for (let index = answer.length - 1; index >= 0; index--) {
    const message = answer[index];
    if (!message) continue;
    if (message.entryId !== undefined) {
      if (!ids.has(message.entryId)) {
        kept.push(message);
        atTail = false;
      }
      continue;
    }
    if (atTail && index === answer.length - 1 && isPrompt(message, prompt)) continue;
    unnamed ??= countSignatures(live, answer);
    const key = signature(message);
    const open = atTail ? (unnamed.get(key) ?? 0) : 0;
    if (open > 0) unnamed.set(key, open - 1);
    else {
      kept.push(message);
      atTail = false;
    }
  }
  return [...kept.reverse(), ...live];
}

/**
 * Number of messages that an engine has put before the first one of the transcript: its summaries, in any wording. 0 when none is of the
 * transcript.
 */
export function ownHead(answer: readonly AgentMessage[], history: readonly AgentMessage[]): number {
  const ids = new Set(history.map((message) => message.entryId));
  ids.delete(undefined);
  const signatures = new Set(history.map((message) => signature(message)));
  const isKnown = (message: AgentMessage): boolean =>
    message.entryId === undefined ? signatures.has(signature(message)) : ids.has(message.entryId);
  return Math.max(0, answer.findIndex(isKnown));
}

/** An engine that received the input as `prompt` may have appended it as a message of its own. */
function isPrompt(message: AgentMessage, prompt: string | undefined): boolean {
  return prompt !== undefined && message.role === "user" && inputText(message) === prompt;
}

/** The text of an input, as engines and hooks get it. */
export function inputText(message: AgentMessage): string {
  if (message.role !== "user") return "";
  if (typeof message.content === "string") return message.content;
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

/** Live messages that the answer does not name by id, counted by signature. */
function countSignatures(
  live: readonly AgentMessage[],
  answer: readonly AgentMessage[],
): Map<string, number> {
  const named = new Set(answer.map((message) => message.entryId));
  const counts = new Map<string, number>();
  for (const message of live) {
    if (message.entryId !== undefined && named.has(message.entryId)) continue;
    const key = signature(message);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Splits a context at the live turn's input; everything is history when the input is not in it. */
export function splitLive(
  messages: readonly AgentMessage[],
  inputEntryId: string | undefined,
): { history: AgentMessage[]; live: AgentMessage[] } {
  if (inputEntryId === undefined) return { history: [...messages], live: [] };
  let index = messages.length - 1;
  while (index >= 0 && messages[index]?.entryId !== inputEntryId) index--;
  if (index < 0) return { history: [...messages], live: [] };
  return { history: messages.slice(0, index), live: messages.slice(index) };
}

/** Inserts messages without an entry where they arrived; after input and summary when that place is gone. */
export function placeVolatile(
  live: readonly AgentMessage[],
  volatile: readonly { message: AgentMessage; after: string | undefined }[],
): AgentMessage[] {
  const placed = [...live];
  const isSummary = (message: AgentMessage | undefined): boolean =>
    message !== undefined && readSummary(inputText(message)) !== undefined;
  for (const { message, after } of volatile.toReversed()) {
    const found = placed.findLastIndex(
      (candidate) => candidate.entryId !== undefined && candidate.entryId === after,
    );
    const start = isSummary(placed[1]) ? 2 : 1;
    placed.splice(found < 0 ? Math.min(start, placed.length) : found + 1, 0, message);
  }
  return placed;
}
