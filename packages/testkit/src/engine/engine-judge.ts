/** Assertions on messages: valid for every model, complete, and in their original order. */
import type { AgentMessage } from "@pagurus/contract/message";
import { isRecord } from "@pagurus/core/data/record-fields";
import { must, shown } from "../conformance-check.ts";
import type { EngineStage } from "./engine-stage.ts";
import { keyOf } from "./scripted-conversation.ts";

const USER_PARTS = new Set(["text", "image"]);
const ASSISTANT_PARTS = new Set(["text", "thinking", "toolCall"]);

/** Throws `Violation`: an unknown role or part, an empty message, a tool call without its results directly after it. */
export function mustBeValid(messages: readonly AgentMessage[]): void {
  for (const [index, message] of messages.entries()) mustBeMessage(message, `Message ${index}`);
  mustBePaired(messages);
}

function mustBeMessage(message: unknown, name: string): void {
  must(isRecord(message), `${name} is ${shown(message)}, not an object.`);
  const { role, content } = message;
  must(
    role === "user" || role === "assistant" || role === "toolResult",
    `${name} has the role ${shown(role)}; the roles are user, assistant and toolResult.`,
  );
  if (role === "user" && typeof content === "string") {
    must(content !== "", `${name} is empty.`);
    return;
  }
  must(Array.isArray(content), `${name} (${role}) has the content ${shown(content)}, not parts.`);
  must(content.length > 0 || role === "toolResult", `${name} (${role}) has no parts.`);
  const allowed = role === "assistant" ? ASSISTANT_PARTS : USER_PARTS;
  for (const part of content) {
    must(
      isRecord(part) && allowed.has(String(part["type"])),
      `${name} (${role}) has the part ${shown(part)}.`,
    );
    mustBePart(part, name);
  }
  if (role === "toolResult")
    must(typeof message["toolCallId"] === "string", `${name} is a tool result without a toolCallId.`);
}

function mustBePart(part: Record<string, unknown>, name: string): void {
  if (part["type"] === "text")
    must(typeof part["text"] === "string", `${name} has a text part without text.`);
  if (part["type"] !== "toolCall") return;
  const whole =
    typeof part["id"] === "string" && typeof part["name"] === "string" && isRecord(part["arguments"]);
  must(whole, `${name} has a tool call without id, name or arguments.`);
}

function mustBePaired(messages: readonly AgentMessage[]): void {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "toolResult") {
      must(
        open.delete(message.toolCallId),
        `Message ${index} is the result of ${shown(message.toolCallId)}, which the assistant message before it did not call.`,
      );
      continue;
    }
    must(open.size === 0, `The tool calls ${[...open].join(", ")} have no result before message ${index}.`);
    open = new Set(
      message.role === "assistant"
        ? message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))
        : [],
    );
  }
  must(open.size === 0, `The tool calls ${[...open].join(", ")} at the end have no result.`);
}

/** Throws `Violation` when input messages are in another order, or one of them twice. */
export function mustKeepOrder(given: readonly AgentMessage[], got: readonly AgentMessage[]): void {
  const places = new Map<string, number[]>();
  for (const [index, message] of given.entries()) {
    const key = keyOf(message);
    places.set(key, [...(places.get(key) ?? []), index]);
  }
  let last = -1;
  for (const message of got) {
    const key = keyOf(message);
    const at = places.get(key);
    if (!at) continue;
    const next = at.find((place) => place > last);
    must(
      next !== undefined,
      `The message ${shown(key.slice(0, 60))} is twice in the assembled context, or before an earlier one.`,
    );
    last = next;
  }
}

/** The first of `wanted` that `got` does not hold as often as `wanted` does; undefined when all are there. */
function firstMissing(
  wanted: readonly AgentMessage[],
  got: readonly AgentMessage[],
): AgentMessage | undefined {
  const counts = new Map<string, number>();
  for (const message of got) counts.set(keyOf(message), (counts.get(keyOf(message)) ?? 0) + 1);
  return wanted.find((message) => {
    const left = (counts.get(keyOf(message)) ?? 0) - 1;
    counts.set(keyOf(message), left);
    return left < 0;
  });
}

/** Throws `Violation` with the missing message when `got` does not hold all of `wanted`. */
export function mustHold(wanted: readonly AgentMessage[], got: readonly AgentMessage[], when: string): void {
  const missing = firstMissing(wanted, got);
  must(!missing, `${when} the assembled context lacks ${shown(missing && keyOf(missing).slice(0, 60))}.`);
}

/** Throws `Violation` where the context for a prompt is invalid, in another order, or lacks words of the transcript. */
export async function mustHoldPast(made: EngineStage, prompt: string, when: string): Promise<void> {
  const { messages } = await made.assemble({ prompt });
  mustBeValid(messages);
  mustKeepOrder(made.transcript.context(), messages);
  mustHold(made.transcript.context(), messages, when);
}
