/** Assertions on model requests and transcripts: what the model saw, compared with the conversation. */
import type { TurnEvent, TurnSummary } from "@pagurus/contract/host/events";
import type { AgentMessage } from "@pagurus/contract/message";
import { canonicalJson } from "@pagurus/core/data/canonical-json";
import { must, shown } from "../conformance-check.ts";
import type { SeenItem, SeenRequest } from "../endpoint/seen.ts";
import { wordsOf, type Asked, type HarnessStage } from "./harness-stage.ts";

/** An expected item: a unique text, and its role. */
export type ExpectedItem = readonly [role: SeenItem["role"], words: string];

/** The newest request to the model. Throws `Violation` where there was none. */
export function newest({ endpoint }: HarnessStage): SeenRequest {
  const request = endpoint.requests.at(-1);
  must(request, "No request reached the model.");
  return request;
}

export function countIn({ items }: SeenRequest, words: string): number {
  return items.reduce((sum, { text }) => sum + text.split(words).length - 1, 0);
}

/** Throws `Violation` unless the request shows the words exactly once. */
export function mustShowOnce(request: SeenRequest, words: string): void {
  const count = countIn(request, words);
  must(count === 1, `The model saw ${shown(words)} ${count} times, not once.`);
}

export function mustNotShow(request: SeenRequest, words: string, why: string): void {
  must(countIn(request, words) === 0, `The model saw ${shown(words)}, ${why}.`);
}

/**
 * Throws `Violation` unless the request shows all items in order, each once; where messages stay messages, also with their
 * roles.
 */
export function mustShow(
  request: SeenRequest,
  wanted: readonly ExpectedItem[],
  seam: TurnSummary["seam"],
): void {
  let last = { item: -1, at: -1 };
  for (const [role, words] of wanted) {
    mustShowOnce(request, words);
    const item = request.items.findIndex(({ text }) => text.includes(words));
    const at = request.items[item]?.text.indexOf(words) ?? -1;
    const isLater = item > last.item || (item === last.item && at > last.at);
    must(isLater, `The model saw ${shown(words)} before an earlier item.`);
    const got = request.items[item]?.role;
    if (seam !== "projection")
      must(got === role, `The model saw ${shown(words)} with the role ${got}; it was ${role}.`);
    last = { item, at };
  }
}

/** The seam of a turn that completed. Throws `Violation` for another one. */
export function seamOf({ last }: Asked): TurnSummary["seam"] {
  return completed(last).seam;
}

export function completed(last: TurnEvent): TurnSummary {
  must(last.type === "turn.completed", `The turn did not complete: ${shown(last)}.`);
  return last;
}

/** A message as a line: role, text, calls with their arguments; for example `toolResult (error): not found`. */
export function lineOf(message: AgentMessage): string {
  const calls =
    message.role === "assistant"
      ? message.content.flatMap((part) =>
          part.type === "toolCall" ? [`calls ${part.name} ${canonicalJson(part.arguments)}`] : [],
        )
      : [];
  const failed = message.role === "toolResult" && message.isError ? " (error)" : "";
  return [`${message.role}${failed}:`, wordsOf(message), ...calls].filter((word) => word !== "").join(" ");
}

/** Throws `Violation` unless the lines of the messages match in number and order; each expected text must be part of its line. */
export function mustBeLines(
  messages: readonly AgentMessage[],
  wanted: readonly string[],
  where: string,
): void {
  const lines = messages.map(lineOf);
  const fits = lines.length === wanted.length && wanted.every((part, index) => lines[index]?.includes(part));
  must(fits, `${where} holds ${shown(lines)}; it should be ${shown(wanted)}.`);
}
