/** Content of a request that the gateway has sent, by markers that each name their source. */
import assert from "node:assert/strict";
import type { RecordedRequest } from "../../servers/server.ts";

type Item = Record<string, unknown>;

const MARKER = /\b(asked|found|verbatim)-[\da-z-]+?-\1\b/g;

/** Requests of the conversation; summaries are requested without tools. */
export function isMain({ body }: RecordedRequest): boolean {
  return Array.isArray(body["tools"]) && body["tools"].length > 0;
}

export function markersOf(text: string): string[] {
  return text.match(MARKER) ?? [];
}

function messagesOf({ body }: RecordedRequest): Item[] {
  return body["messages"] as Item[];
}

function blocksOf(message: Item | undefined): Item[] {
  const content = message?.["content"];
  return Array.isArray(content) ? (content as Item[]) : [{ type: "text", text: content }];
}

/** The texts of a block; arguments of calls are left out. */
function wordsOf(block: Item): string {
  if (block["type"] === "tool_use") return "";
  const { text, content } = block;
  if (typeof text === "string") return text;
  if (typeof content === "string") return content;
  return Array.isArray(content) ? (content as Item[]).map(wordsOf).join("\n") : "";
}

/** Markers that are missing or occur twice: each occurs once verbatim, or else in a summary. */
export function notOnce(request: RecordedRequest, expected: readonly string[]): string[] {
  const blocks = messagesOf(request).flatMap(blocksOf).map(wordsOf);
  const isSummary = (words: string): boolean => words.startsWith("<conversation_summary>");
  const summed = new Set(blocks.filter(isSummary).flatMap(markersOf));
  const verbatim = blocks.filter((words) => !isSummary(words)).flatMap(markersOf);
  const strange = [...verbatim, ...summed].filter((word) => !expected.includes(word));
  return [
    ...strange.map((word) => `${word} has no source`),
    ...expected.flatMap((word) => {
      const count = verbatim.filter((other) => other === word).length;
      if (count > 1) return [`${word} ${count} times`];
      if (count === 0 && !summed.has(word)) return [`${word} is missing`];
      // An engine may keep an input verbatim next to its summary.
      return count === 1 && summed.has(word) && !word.startsWith("asked")
        ? [`${word} in words and in a summary`]
        : [];
    }),
  ];
}

/** Each call has its result in the next message, and each result its call before it, as the API requires. */
export function assertPairs(request: RecordedRequest): void {
  const messages = messagesOf(request);
  const ids = (message: Item | undefined, type: string, key: string): string[] =>
    blocksOf(message)
      .filter((block) => block["type"] === type)
      .map((block) => String(block[key]))
      .toSorted();
  for (const [index, message] of messages.entries()) {
    const calls = message["role"] === "assistant" ? ids(message, "tool_use", "id") : [];
    assert.deepEqual(
      ids(messages[index + 1], "tool_result", "tool_use_id"),
      calls,
      `behind message ${index}`,
    );
  }
}

/** The position of the only copy of a marker; `undefined` where there is none, or more than one. */
export function oncePlace({ body }: RecordedRequest, words: string): "system" | "messages" | undefined {
  const count = (value: unknown): number =>
    JSON.stringify(value).split(JSON.stringify(words).slice(1, -1)).length - 1;
  const [system, messages] = [count(body["system"]), count(body["messages"])];
  if (system + messages !== 1) return undefined;
  return system === 1 ? "system" : "messages";
}
