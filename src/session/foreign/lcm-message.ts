/** Messages of lossless-claw, built again from their parts: each keeps the part that the host gave, else its fields. */
import type { AssistantMessage, ToolResultMessage } from "../../contract/message.ts";
import { argumentsOf, toolName } from "../../responses/items.ts";
import { readBlock, resultContent } from "./blocks.ts";
import type { DraftBody } from "./draft.ts";
import { fieldsOf, parseFields, textOf, timeOf, type Fields } from "./fields.ts";
import {
  assistantContent,
  resultMessage,
  sortParts,
  stopReasonOf,
  userContent,
  type SortedParts,
} from "./message-parts.ts";

interface Part {
  row: Fields;
  metadata: Fields;
  /** The part as the host gave it. */
  raw: Fields | undefined;
}

export interface LcmMessage {
  /** In their order; several where a message holds answers of tools beside other words. */
  bodies: DraftBody[];
  data: SortedParts["data"];
}

/** `rows` are the parts in their order; undefined for a message that says nothing. */
export function readLcmMessage(message: Fields, rows: readonly Fields[]): LcmMessage | undefined {
  const parts = rows.map((row): Part => {
    const metadata = parseFields(row["metadata"]) ?? {};
    return { row, metadata, raw: fieldsOf(metadata["raw"]) };
  });
  const at = timeOf(message["created_at"]);
  const timestamp = at === undefined ? {} : { timestamp: at };
  const role = roleOf(message, parts);
  if (role === "toolResult") {
    const result = toolResult(message, parts);
    // An answer whose call nobody knows is told as what it is.
    if (result) return { bodies: [{ type: "message", message: { ...result, ...timestamp } }], data: [] };
  }
  const sorted = sortParts(blocksOf(message, parts), { apart: true });
  const results = sorted.results.map((block): DraftBody => ({
    type: "message",
    message: resultMessage(block, at),
  }));
  const said = role === "assistant" ? answered(message, parts, sorted) : spoken(role, sorted);
  if (said?.type === "message") Object.assign(said.message, timestamp);
  const bodies = said ? [...results, said] : results;
  return bodies.length === 0 ? undefined : { bodies, data: sorted.data };
}

function answered(message: Fields, parts: readonly Part[], sorted: SortedParts): DraftBody | undefined {
  const content = assistantContent(sorted, String(message["message_id"]));
  if (content.length === 0) return undefined;
  const stopReason = stopReasonOf(undefined, content);
  const answer: AssistantMessage = { role: "assistant", content, ...modelOf(parts), stopReason };
  return { type: "message", message: answer };
}

/** What the user said; what nobody said is a notice, which holds text. */
function spoken(role: string, sorted: SortedParts): DraftBody | undefined {
  const content = userContent(sorted);
  if (content.length === 0) return undefined;
  if (role === "user") return { type: "message", message: { role, content } };
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return { type: "custom_message", customType: `lcm.${role}`, content: text };
}

function roleOf(message: Fields, parts: readonly Part[]): "user" | "assistant" | "toolResult" | "system" {
  const given = parts.map((part) => textOf(part.metadata["originalRole"])).find((role) => role !== undefined);
  const role = given ?? message["role"];
  if (role === "tool" || role === "toolResult") return "toolResult";
  return role === "assistant" || role === "system" ? role : "user";
}

/** What the parts say; the message's own text where it has none. */
function blocksOf(message: Fields, parts: readonly Part[]): unknown[] {
  const blocks: unknown[] = [];
  for (const part of parts) {
    const reasoning = textOf(part.metadata["topLevelReasoningContent"]);
    if (reasoning !== undefined) blocks.push({ type: "thinking", thinking: reasoning });
    if (part.metadata["topLevelReasoningOnly"] !== true) blocks.push(blockOf(part));
  }
  const text = textOf(message["content"]);
  return blocks.length === 0 && text !== undefined ? [text] : blocks;
}

function blockOf({ row, metadata, raw }: Part): unknown {
  const kind = row["part_type"];
  const given = raw && textOf(raw["type"]) !== undefined ? readBlock(raw) : undefined;
  // The columns name the call where the part that the host gave does not.
  const call = given ? given.type === "toolCall" : kind === "tool";
  if (call) {
    const { call_id, toolCallId, toolName: _, ...rest } = raw ?? {};
    const id = textOf(rest["id"]) ?? textOf(call_id) ?? textOf(toolCallId) ?? textOf(row["tool_call_id"]);
    const name = textOf(rest["name"]) ?? textOf(row["tool_name"]);
    const input = rest["arguments"] ?? rest["input"] ?? decoded(row["tool_input"]);
    return { ...rest, type: "toolCall", id, name, arguments: argumentsOf(input) };
  }
  if (given) return raw;
  const text = row["text_content"];
  if (kind === "reasoning") return { type: "thinking", thinking: text };
  if (typeof text === "string") return { type: "text", text };
  const { metadata: _, ...fields } = row;
  const known = Object.entries(fields).filter(([, value]) => value !== null);
  return { type: String(kind), ...Object.fromEntries(known), ...metadata };
}

function toolResult(message: Fields, parts: readonly Part[]): ToolResultMessage | undefined {
  const first = (...read: ((part: Part) => unknown)[]): string | undefined =>
    parts.flatMap((part) => read.map((field) => textOf(field(part)))).find((value) => value !== undefined);
  const toolCallId = first(
    (part) => part.row["tool_call_id"],
    (part) => part.metadata["toolCallId"],
    (part) =>
      part.raw?.["toolCallId"] ??
      part.raw?.["tool_use_id"] ??
      part.raw?.["call_id"] ??
      part.raw?.["tool_call_id"],
  );
  if (toolCallId === undefined) return undefined;
  const name = first(
    (part) => part.row["tool_name"],
    (part) => part.metadata["toolName"],
    (part) => part.raw?.["toolName"],
  );
  const failed = parts.some(
    (part) =>
      part.metadata["isError"] === true || part.raw?.["isError"] === true || part.raw?.["is_error"] === true,
  );
  const content = parts.flatMap((part) => resultContent(outputOf(part)));
  return {
    role: "toolResult",
    toolCallId,
    toolName: toolName(name ?? ""),
    content: content.length > 0 ? content : resultContent(message["content"]),
    isError: failed,
  };
}

/** What a part of a tool's answer says. */
function outputOf({ row, raw }: Part): unknown {
  if (raw && (raw["type"] === "text" || raw["type"] === "image")) return [raw];
  return (
    raw?.["content"] ?? raw?.["output"] ?? decoded(row["tool_output"]) ?? row["text_content"] ?? raw?.["text"]
  );
}

/** Outputs are stored as JSON where they are no text. */
function decoded(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{"]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    // A text that only looks like JSON.
    return value;
  }
}

function modelOf(parts: readonly Part[]): { provider?: string; model?: string } {
  for (const { metadata } of parts) {
    const provider = textOf(metadata["modelProvider"]);
    const model = textOf(metadata["modelId"]);
    if (provider !== undefined && model !== undefined) return { provider, model };
  }
  return {};
}
