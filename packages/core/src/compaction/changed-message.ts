/**
 * Compares what an engine returns with the transcript. An engine selects messages, leaves out parts and shortens the results of tools; a
 * message that it rewrites is a message of its own and has no `entryId`.
 */
import { isDeepStrictEqual } from "node:util";
import type {
  AgentMessage,
  AssistantMessage,
  ToolCallPart,
  ToolResultMessage,
} from "@pagurus/contract/message";
import { callsOf, textOf } from "./message-text.ts";

/** The messages of a transcript, by the ids that an engine's copies keep. */
interface Known {
  entries: Map<string, AgentMessage>;
  /** Programs may use a call id again, so each id has every call and result that it names. */
  calls: Map<string, ToolCallPart[]>;
  results: Map<string, ToolResultMessage[]>;
}

/** The first message that differs from the transcript's own, as a clause; undefined if there is none. */
export function changedMessage(
  transcript: readonly AgentMessage[],
  returned: readonly AgentMessage[],
): string | undefined {
  const known = knownOf(transcript);
  for (const message of returned) {
    const own = message.entryId === undefined ? undefined : known.entries.get(message.entryId);
    if (own === message) continue;
    const change = own ? changeOf(own, message) : changeById(known, message);
    if (change === undefined) continue;
    return own ? `the entry ${message.entryId} has ${change}` : `a message has ${change}`;
  }
  return undefined;
}

function knownOf(transcript: readonly AgentMessage[]): Known {
  const known: Known = { entries: new Map(), calls: new Map(), results: new Map() };
  for (const message of transcript) {
    if (message.entryId !== undefined) known.entries.set(message.entryId, message);
    if (message.role === "assistant") for (const call of callsOf(message)) add(known.calls, call.id, call);
    if (message.role === "toolResult") add(known.results, message.toolCallId, message);
  }
  return known;
}

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** The change of a message that keeps its entry's id. */
function changeOf(own: AgentMessage, returned: AgentMessage): string | undefined {
  if (own.role !== returned.role) return `the role ${returned.role} instead of ${own.role}`;
  if (own.role === "toolResult" && returned.role === "toolResult") return resultChange([own], returned);
  if (textOf(own) !== textOf(returned)) return "another text";
  if (own.role !== "assistant" || returned.role !== "assistant") return undefined;
  return callChange(callsOf(own), returned);
}

/** The change of a message without an entry's id, seen by the ids of its calls. */
function changeById(known: Known, returned: AgentMessage): string | undefined {
  if (returned.role === "toolResult") {
    const own = known.results.get(returned.toolCallId);
    return own && resultChange(own, returned);
  }
  if (returned.role !== "assistant") return undefined;
  const calls = callsOf(returned).flatMap(({ id }) => known.calls.get(id) ?? []);
  return calls.length === 0 ? undefined : callChange(calls, returned);
}

/** A call that is left out is no change; another name, other arguments and an unknown call are. */
function callChange(own: readonly ToolCallPart[], returned: AssistantMessage): string | undefined {
  for (const call of callsOf(returned)) {
    const same = own.filter(({ id }) => id === call.id);
    if (same.length === 0) return `a call ${call.id} that the model did not make`;
    if (!same.some(({ name }) => name === call.name))
      return `another name of the tool in the call ${call.id}`;
    if (!same.some(({ arguments: given }) => isDeepStrictEqual(given, call.arguments)))
      return `other arguments of the call ${call.id}`;
  }
  return undefined;
}

function resultChange(own: readonly ToolResultMessage[], returned: ToolResultMessage): string | undefined {
  const same = own.filter(({ toolCallId }) => toolCallId === returned.toolCallId);
  if (same.length === 0) return `the result of the call ${returned.toolCallId} in place of its own`;
  if (!same.some(({ isError }) => isError === returned.isError))
    return `the ${returned.isError ? "success" : "failure"} of the call ${returned.toolCallId} as a ${returned.isError ? "failure" : "success"}`;
  if (!same.some(({ toolName }) => toolName === returned.toolName))
    return `another name of the tool in the result of the call ${returned.toolCallId}`;
  const text = textOf(returned);
  const isOwn = same.some((message) => {
    const whole = textOf(message);
    return whole === text || text.length < whole.length;
  });
  return isOwn ? undefined : `another result of the call ${returned.toolCallId}`;
}
