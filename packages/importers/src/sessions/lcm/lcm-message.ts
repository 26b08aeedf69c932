/** Messages of lossless-claw, rebuilt from their parts: each part uses the host's original when it is stored, else its fields. */
import type { AssistantMessage, ToolResultMessage } from "@pagurus/contract/message";
import { asRecord, type Fields, filledString } from "@pagurus/core/data/record-fields";
import { argumentsOf, toolName } from "@pagurus/core/protocols/protocol-parts";
import { readBlock, resultContent } from "../blocks.ts";
import type { DraftBody } from "../draft.ts";
import { parseFields, timeOf } from "../foreign-fields.ts";
import {
  assistantContent,
  resultMessage,
  sortParts,
  stopReasonOf,
  userContent,
  type SortedParts,
} from "../message-parts.ts";

interface Part {
  row: Fields;
  metadata: Fields;
  /** The host's original part. */
  raw: Fields | undefined;
}

export interface LcmMessage {
  /** In their order; several when a message has tool results next to other content. */
  bodies: DraftBody[];
  data: SortedParts["data"];
}

/** `rows` are the parts in their order; undefined for a message without content. */
export function readLcmMessage(message: Fields, rows: readonly Fields[]): LcmMessage | undefined {
  const parts = rows.map((row): Part => {
    const metadata = parseFields(row["metadata"]) ?? {};
    return { row, metadata, raw: asRecord(metadata["raw"]) };
  });
  const at = timeOf(message["created_at"]);
  const timestamp = at === undefined ? {} : { timestamp: at };
  const role = roleOf(message, parts);
  if (role === "toolResult") {
    const result = toolResult(message, parts);
    // A result without a known call stays a result.
    if (result) return { bodies: [{ type: "message", message: { ...result, ...timestamp } }], data: [] };
  }
  const sorted = sortParts(blocksOf(message, parts), { apart: true });
  const results = sorted.results.map((block): DraftBody => ({
    type: "message",
    message: resultMessage(block, at),
  }));
  const body = role === "assistant" ? answered(message, parts, sorted) : spokenBody(role, sorted);
  if (body?.type === "message") Object.assign(body.message, timestamp);
  const bodies = body ? [...results, body] : results;
  return bodies.length === 0 ? undefined : { bodies, data: sorted.data };
}

function answered(message: Fields, parts: readonly Part[], sorted: SortedParts): DraftBody | undefined {
  const content = assistantContent(sorted, String(message["message_id"]));
  if (content.length === 0) return undefined;
  const stopReason = stopReasonOf(undefined, content);
  const answer: AssistantMessage = { role: "assistant", content, ...modelOf(parts), stopReason };
  return { type: "message", message: answer };
}

/** A user message, or a notice for text without an author; a notice holds text. */
function spokenBody(role: string, sorted: SortedParts): DraftBody | undefined {
  const content = userContent(sorted);
  if (content.length === 0) return undefined;
  if (role === "user") return { type: "message", message: { role, content } };
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return { type: "custom_message", customType: `lcm.${role}`, content: text };
}

function roleOf(message: Fields, parts: readonly Part[]): "user" | "assistant" | "toolResult" | "system" {
  const original = parts
    .map((part) => filledString(part.metadata["originalRole"]))
    .find((role) => role !== undefined);
  const role = original ?? message["role"];
  if (role === "tool" || role === "toolResult") return "toolResult";
  return role === "assistant" || role === "system" ? role : "user";
}

/** Content of the parts; the message's own text when it has none. */
function blocksOf(message: Fields, parts: readonly Part[]): unknown[] {
  const blocks: unknown[] = [];
  for (const part of parts) {
    const reasoning = filledString(part.metadata["topLevelReasoningContent"]);
    if (reasoning !== undefined) blocks.push({ type: "thinking", thinking: reasoning });
    if (part.metadata["topLevelReasoningOnly"] !== true) blocks.push(nativeBlock(part));
  }
  const text = filledString(message["content"]);
  return blocks.length === 0 && text !== undefined ? [text] : blocks;
}

function nativeBlock({ row, metadata, raw }: Part): unknown {
  const kind = row["part_type"];
  const block = raw && filledString(raw["type"]) !== undefined ? readBlock(raw) : undefined;
  // The columns name the call when the host's part does not.
  const call = block ? block.type === "toolCall" : kind === "tool";
  if (call) {
    const { call_id, toolCallId, toolName: _, ...rest } = raw ?? {};
    const id =
      filledString(rest["id"]) ??
      filledString(call_id) ??
      filledString(toolCallId) ??
      filledString(row["tool_call_id"]);
    const name = filledString(rest["name"]) ?? filledString(row["tool_name"]);
    const input = rest["arguments"] ?? rest["input"] ?? decoded(row["tool_input"]);
    return { ...rest, type: "toolCall", id, name, arguments: argumentsOf(input) };
  }
  if (block) return raw;
  const text = row["text_content"];
  if (kind === "reasoning") return { type: "thinking", thinking: text };
  if (typeof text === "string") return { type: "text", text };
  const { metadata: _, ...fields } = row;
  const known = Object.entries(fields).filter(([, value]) => value !== null);
  return { type: String(kind), ...Object.fromEntries(known), ...metadata };
}

function toolResult(message: Fields, parts: readonly Part[]): ToolResultMessage | undefined {
  const first = (...read: ((part: Part) => unknown)[]): string | undefined =>
    parts
      .flatMap((part) => read.map((field) => filledString(field(part))))
      .find((value) => value !== undefined);
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

/** Content of a tool result's part. */
function outputOf({ row, raw }: Part): unknown {
  if (raw && (raw["type"] === "text" || raw["type"] === "image")) return [raw];
  return (
    raw?.["content"] ?? raw?.["output"] ?? decoded(row["tool_output"]) ?? row["text_content"] ?? raw?.["text"]
  );
}

/** Outputs that are no text are stored as JSON. */
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
    const provider = filledString(metadata["modelProvider"]);
    const model = filledString(metadata["modelId"]);
    if (provider !== undefined && model !== undefined) return { provider, model };
  }
  return {};
}
