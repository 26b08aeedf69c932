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

/** Calls without a result, by id, in their order. */
type OpenCalls = Map<string, { slot: Slot; at: number }[]>;

/** Assigns each result to the first unanswered call with its id in the newest run of assistant messages with calls. */
function slotsOf(messages: readonly AgentMessage[]): Slot[] {
  const slots: Slot[] = [];
  let open: OpenCalls = new Map();
  let groupOpen = false;
  for (const message of messages) {
    if (message.role === "toolResult") {
      groupOpen = false;
      const call = open.get(message.toolCallId)?.shift();
      if (call) call.slot.results[call.at] = message;
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
    if (!groupOpen || slot.calls.length === 0) open = new Map();
    for (const [at, { id }] of slot.calls.entries()) {
      const same = open.get(id);
      if (same) same.push({ slot, at });
      else open.set(id, [{ slot, at }]);
    }
    groupOpen = true;
  }
  return slots;
}

/** Gives calls unique ids: a repeated id gets the first free suffix, for example `call_1_2` and then `call_1_3` for `call_1`. */
class FreshIds {
  readonly #taken: ReadonlySet<string>;
  readonly #used = new Set<string>();
  /** The next suffix of an id to try; those before it are in use. */
  readonly #copies = new Map<string, number>();

  constructor(taken: ReadonlySet<string>) {
    this.#taken = taken;
  }

  of({ id }: ToolCallPart): string {
    if (!this.#used.has(id)) {
      this.#used.add(id);
      return id;
    }
    for (let copy = this.#copies.get(id) ?? 2; ; copy += 1) {
      const fresh = `${id}_${copy}`;
      if (this.#used.has(fresh) || this.#taken.has(fresh)) continue;
      this.#used.add(fresh);
      this.#copies.set(id, copy + 1);
      return fresh;
    }
  }
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
  const fresh = new FreshIds(taken);
  const repaired: AgentMessage[] = [];
  for (const slot of slots) {
    const ids = slot.calls.map((call) => fresh.of(call));
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
