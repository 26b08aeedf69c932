/**
 * Tool calls and their results as every provider accepts them: right after an assistant message come the results
 * of its calls, in the order of the calls, each once, and no call id is used twice.
 */
import type {
  AgentMessage,
  AssistantMessage,
  ToolCallPart,
  ToolResultMessage,
} from "@pagurus/contract/message";
import { callsOf } from "./message-text.ts";

const NO_RESULT = "No result was recorded for this tool call.";

/** Takes the place of a result that the conversation lacks. */
export function missingResult({ id, name }: ToolCallPart): ToolResultMessage {
  const content = [{ type: "text" as const, text: NO_RESULT }];
  return { role: "toolResult", toolCallId: id, toolName: name, content, isError: true };
}

/** Whether it is what `missingResult` made, of any call. */
export function isMissingResult(message: AgentMessage): boolean {
  if (message.role !== "toolResult" || message.entryId !== undefined) return false;
  const [part, ...others] = message.content;
  return others.length === 0 && part?.type === "text" && part.text === NO_RESULT;
}

/** By object, as messages are immutable: a context is checked several times, and blanks may be megabytes. */
const withoutContent = new WeakMap<AssistantMessage, boolean>();

/** An assistant message that no provider accepts: no reasoning, no call, no text but white space. */
function hasNoContent(message: AssistantMessage): boolean {
  let isEmpty = withoutContent.get(message);
  if (isEmpty === undefined) {
    isEmpty = message.content.every((part) => part.type === "text" && part.text.trim() === "");
    withoutContent.set(message, isEmpty);
  }
  return isEmpty;
}

/** Why a provider would refuse the sequence, as one sentence; undefined when it is valid. */
export function isValidSequence(messages: readonly AgentMessage[]): string | undefined {
  const seen = new Set<string>();
  let open: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === "toolResult") {
      if (open.shift() !== message.toolCallId) {
        return `Message ${index} is a result of call ${message.toolCallId}, which is not the open call before it.`;
      }
      continue;
    }
    if (open[0] !== undefined) return `Call ${open[0]} has no result before message ${index}.`;
    if (message.role === "user") continue;
    if (hasNoContent(message)) return `Message ${index} is an assistant message without content.`;
    open = callsOf(message).map((call) => call.id);
    for (const id of open) {
      if (seen.has(id)) return `Message ${index} uses the call id ${id} a second time.`;
      seen.add(id);
    }
  }
  return open[0] === undefined ? undefined : `Call ${open[0]} has no result.`;
}

interface Slot {
  message: AgentMessage;
  calls: ToolCallPart[];
  results: (ToolResultMessage | undefined)[];
}

/** Assigns each result to the first unanswered call with its id in the newest run of assistant messages with calls. */
function slotsOf(messages: readonly AgentMessage[]): Slot[] {
  const slots: Slot[] = [];
  let group: Slot[] = [];
  let groupOpen = false;
  for (const message of messages) {
    if (message.role === "toolResult") {
      groupOpen = false;
      for (const slot of group) {
        const at = slot.calls.findIndex(
          (call, index) => call.id === message.toolCallId && slot.results[index] === undefined,
        );
        if (at < 0) continue;
        slot.results[at] = message;
        break;
      }
      continue;
    }
    if (message.role === "assistant" && hasNoContent(message)) continue;
    const slot: Slot = { message, calls: message.role === "assistant" ? callsOf(message) : [], results: [] };
    slots.push(slot);
    if (message.role === "user") {
      groupOpen = false;
      continue;
    }
    // Some harnesses split one answer with parallel calls into several messages.
    if (groupOpen && slot.calls.length > 0) group.push(slot);
    else group = [slot];
    groupOpen = true;
  }
  return slots;
}

/** Unique ids for the calls of a message; a repeated id gets the first free suffix `_2`, `_3`, ... */
function freshIds(calls: readonly ToolCallPart[], used: Set<string>, taken: ReadonlySet<string>): string[] {
  return calls.map((call) => {
    let id = call.id;
    for (let copy = 2; used.has(id) || (id !== call.id && taken.has(id)); copy += 1)
      id = `${call.id}_${copy}`;
    used.add(id);
    return id;
  });
}

function renameCalls(message: AgentMessage, ids: readonly string[]): AgentMessage {
  if (message.role !== "assistant") return message;
  let next = 0;
  let changed = false;
  const content = message.content.map((part) => {
    if (part.type !== "toolCall") return part;
    const id = ids[next++] ?? part.id;
    if (id === part.id) return part;
    changed = true;
    return { ...part, id };
  });
  return changed ? { ...message, content } : message;
}

/**
 * Repairs a sequence so that `isValidSequence` accepts it; returns the same array when it is valid already. Drops
 * results whose call is not in the assistant messages right before them, and empty assistant messages; adds an error
 * result to a call without one; renames a repeated call id (some servers count from 0 in each answer). Never moves a
 * result across a later assistant message: the order that a model has seen is kept.
 */
export function repairPairs(messages: readonly AgentMessage[]): AgentMessage[] {
  if (isValidSequence(messages) === undefined) return messages as AgentMessage[];
  const slots = slotsOf(messages);
  const taken = new Set(slots.flatMap((slot) => slot.calls.map((call) => call.id)));
  const used = new Set<string>();
  const repaired: AgentMessage[] = [];
  for (const slot of slots) {
    const ids = freshIds(slot.calls, used, taken);
    repaired.push(renameCalls(slot.message, ids));
    for (const [index, call] of slot.calls.entries()) {
      const toolCallId = ids[index] ?? call.id;
      const result = slot.results[index];
      if (result?.toolCallId === toolCallId) repaired.push(result);
      else if (result) repaired.push({ ...result, toolCallId });
      else {
        repaired.push({ ...missingResult(call), toolCallId });
      }
    }
  }
  return repaired;
}
