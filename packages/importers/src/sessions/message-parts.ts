/** Builds messages from the parts of a foreign one. */
import type {
  AssistantMessage,
  ImagePart,
  StopReason,
  TextPart,
  ThinkingPart,
  ToolCallPart,
  ToolResultMessage,
  Usage,
} from "@pagurus/contract/message";
import { readBlock, type ResultBlock } from "./blocks.ts";
import { numberOf } from "./foreign-fields.ts";
import { asRecord, listOf } from "@pagurus/core/data/record-fields";
import { defined } from "@pagurus/core/data/defined";

/** A longer part without an equivalent is replaced by its name; the data is kept separately. */
const INLINE_LIMIT = 4_000;

export interface SortedParts {
  content: (TextPart | ImagePart | ThinkingPart | ToolCallPart)[];
  results: ResultBlock[];
  /** Parts that are kept as data. */
  data: { kind: string; raw: unknown }[];
}

/**
 * Sorts parts by their use; an unknown part is described in its place. With `apart` tool results are in `results`, which the caller must
 * handle; without it they are ordinary parts.
 */
export function sortParts(content: unknown, how: { apart?: boolean } = {}): SortedParts {
  const blocks = typeof content === "string" ? [content] : listOf(content);
  const sorted: SortedParts = { content: [], results: [], data: [] };
  for (const value of blocks) {
    const block = readBlock(value);
    if (block.type === "result" && how.apart === true) sorted.results.push(block);
    else if (block.type === "result")
      sorted.content.push(placeholder({ kind: "tool result", raw: value }, sorted));
    else if (block.type === "other") sorted.content.push(placeholder(block, sorted));
    else if (block.type === "thinking" && block.thinking === "" && block.signature === undefined)
      sorted.data.push({ kind: "sealed reasoning", raw: value });
    else sorted.content.push(block);
  }
  return sorted;
}

function placeholder({ kind, raw }: { kind: string; raw: unknown }, sorted: SortedParts): TextPart {
  const json = JSON.stringify(raw) ?? "";
  if (json.length <= INLINE_LIMIT) return { type: "text", text: `[${kind} ${json}]` };
  sorted.data.push({ kind: `${kind} part`, raw });
  return { type: "text", text: `[${kind}, ${json.length} characters]` };
}

/** Content of a user message: a single text as a string, else parts. */
export function userContent(parts: SortedParts): string | (TextPart | ImagePart)[] {
  const content = parts.content.map((part) =>
    part.type === "text" || part.type === "image" ? part : placeholder({ kind: part.type, raw: part }, parts),
  );
  const [first] = content;
  return content.length === 1 && first?.type === "text" ? first.text : content;
}

/** Content of an assistant message; calls without an id get one. */
export function assistantContent(parts: SortedParts, key: string): AssistantMessage["content"] {
  const calls = new Map<string, string>();
  const content: AssistantMessage["content"] = [];
  for (const part of parts.content) {
    if (part.type === "image") content.push(placeholder({ kind: "image", raw: part }, parts));
    else if (part.type !== "toolCall") content.push(part);
    else {
      const json = JSON.stringify(part);
      // A repeated call counts once.
      if (part.id !== "" && calls.get(part.id) === json) continue;
      const taken = part.id === "" || calls.has(part.id);
      const id = taken ? `${part.id || "call"}_${key}_${calls.size + 1}` : part.id;
      calls.set(id, json);
      content.push({ ...part, id });
    }
  }
  return content;
}

export function resultMessage(block: ResultBlock, at: number | undefined): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId: block.callId,
    toolName: block.name,
    content: block.content,
    isError: block.isError,
    ...defined({ timestamp: at }),
  };
}

/** Usage in the fields of Anthropic, OpenAI or pi; undefined without any. */
export function usageOf(value: unknown): Usage | undefined {
  const usage = asRecord(value);
  if (!usage) return undefined;
  const first = (...names: string[]): number | undefined =>
    names.map((name) => numberOf(usage[name])).find((number) => number !== undefined);
  const cacheRead = first("cacheRead", "cache_read_input_tokens", "cached_input_tokens");
  const cacheWrite = first("cacheWrite", "cache_creation_input_tokens", "cache_write_input_tokens");
  const output = first("output", "output_tokens") ?? 0;
  const reasoning = first("reasoning", "reasoning_output_tokens");
  // OpenAI counts cache reads as input.
  const shared = usage["cached_input_tokens"] === undefined ? 0 : (cacheRead ?? 0);
  const input = Math.max(0, (first("input", "input_tokens") ?? 0) - shared);
  if (input + output + (cacheRead ?? 0) === 0) return undefined;
  const cost = numberOf(asRecord(usage["cost"])?.["total"]) ?? numberOf(usage["cost"]);
  return {
    input,
    output,
    ...defined({ cacheRead, cacheWrite, reasoning }),
    totalTokens: input + output + (cacheRead ?? 0) + (cacheWrite ?? 0),
    ...defined({ cost }),
  };
}

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  stop: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  toolUse: "toolUse",
  tool_use: "toolUse",
  max_tokens: "length",
  length: "length",
  aborted: "aborted",
  error: "error",
  refusal: "error",
};

/** Without a stop reason in the source, it follows from the calls. */
export function stopReasonOf(value: unknown, content: AssistantMessage["content"]): StopReason {
  const reason = typeof value === "string" ? STOP_REASONS[value] : undefined;
  return reason ?? (content.some((part) => part.type === "toolCall") ? "toolUse" : "stop");
}
