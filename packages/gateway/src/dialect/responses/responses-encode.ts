/** Converts our messages to elements of `input`, without ids: the same messages give the same bytes. */
import type { AgentMessage, ToolCallPart, ToolResultMessage, UserMessage } from "@pagurus/contract/message";
import { toolName } from "@pagurus/core/protocols/protocol-parts";
import {
  answerItems,
  type ContentItem,
  contentItems,
  type InputItem,
  messageItem,
} from "@pagurus/core/protocols/responses/responses-items";
import type { EncodeOptions, WireRequest } from "../wire-dialect.ts";
import { ResponsesItem } from "./responses-item.ts";
import { customInput, offeredTools, type OfferedTool } from "./responses-tools.ts";

/** Lookups that run only when a call needs them. */
interface Known {
  tools(): ReadonlyMap<string, OfferedTool>;
  /** Calls of custom tools in the request's own elements. */
  custom(): ReadonlySet<string>;
}

export function encodeMessages(
  messages: readonly AgentMessage[],
  addition: string | undefined,
  { request }: EncodeOptions,
): Buffer {
  let offered: ReadonlyMap<string, OfferedTool> | undefined;
  const known: Known = {
    tools: () => (offered ??= offeredTools(request)),
    custom: () => customCalls(request),
  };
  const rules: InputItem[] =
    addition === undefined || addition === "" ? [] : [messageItem("developer", addition)];
  const items = [...rules, ...messages.flatMap((message) => itemsOf(message, known))];
  return Buffer.from(items.map((item) => JSON.stringify(item)).join(","));
}

/** Cached per request, which may be encoded in many runs. */
const knownCalls = new WeakMap<WireRequest, ReadonlySet<string>>();

function customCalls(request: WireRequest): ReadonlySet<string> {
  const calls = knownCalls.get(request) ?? customCallsIn(request);
  knownCalls.set(request, calls);
  return calls;
}

function customCallsIn({ items }: WireRequest): Set<string> {
  const ids = items.map((item) =>
    item instanceof ResponsesItem && item.type === "custom_tool_call" ? item.fields["call_id"] : undefined,
  );
  return new Set(ids.filter((id) => typeof id === "string"));
}

function itemsOf(message: AgentMessage, known: Known): InputItem[] {
  if (message.role === "user") return userItems(message);
  if (message.role === "assistant") return answerItems(message, (call) => callItem(call, known));
  const { toolCallId: call_id } = message;
  const type = known.custom().has(call_id) ? "custom_tool_call_output" : "function_call_output";
  return [{ type, call_id, output: outputOf(message) }];
}

function userItems({ content, fragment }: UserMessage): InputItem[] {
  if (content.length === 0 && typeof content !== "string") return [];
  return [messageItem(fragment?.kind === "application" ? "developer" : "user", content)];
}

/** Call and result must be of the same kind, and the other half may be in the request as the harness wrote it. */
function callItem({ id, name: flat, arguments: args }: ToolCallPart, known: Known): InputItem {
  // The model would call a tool by the name in this element, so a name in two parts is written in its parts.
  const offered = flat.includes("__") ? known.tools().get(toolName(flat)) : undefined;
  const space = offered?.namespace === undefined ? {} : { namespace: offered.namespace };
  const name = offered?.name ?? toolName(flat);
  return known.custom().has(id)
    ? { type: "custom_tool_call", name, ...space, input: customInput(args), call_id: id }
    : { type: "function_call", name, ...space, arguments: JSON.stringify(args), call_id: id };
}

function outputOf({ content }: ToolResultMessage): string | ContentItem[] {
  if (content.some((part) => part.type === "image")) return contentItems(content);
  return content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}
