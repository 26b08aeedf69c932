/** Messages from the parts of a foreign one. */
import type {
  AssistantMessage,
  ImagePart,
  StopReason,
  TextPart,
  ThinkingPart,
  ToolCallPart,
  ToolResultMessage,
  Usage,
} from "../../contract/message.ts";
import { readBlock, type ResultBlock } from "./blocks.ts";
import { fieldsOf, listOf, numberOf } from "./fields.ts";

/** A longer part that no message has room for stands there by its name only; the data is kept beside it. */
const INLINE_LIMIT = 4_000;

export interface SortedParts {
  said: (TextPart | ImagePart | ThinkingPart | ToolCallPart)[];
  results: ResultBlock[];
  /** Parts that are to be kept as data. */
  data: { kind: string; raw: unknown }[];
}

/**
 * Parts by what becomes of them; a part of an unknown kind is told in its place. With `apart` the answers of tools are
 * `results`, which the caller must take; without it they are parts like any other.
 */
export function sortParts(content: unknown, how: { apart?: boolean } = {}): SortedParts {
  const blocks = typeof content === "string" ? [content] : listOf(content);
  const sorted: SortedParts = { said: [], results: [], data: [] };
  for (const value of blocks) {
    const block = readBlock(value);
    if (block.type === "result" && how.apart === true) sorted.results.push(block);
    else if (block.type === "result") sorted.said.push(toldAs({ kind: "tool result", raw: value }, sorted));
    else if (block.type === "other") sorted.said.push(toldAs(block, sorted));
    else if (block.type === "thinking" && block.thinking === "" && block.signature === undefined)
      sorted.data.push({ kind: "sealed reasoning", raw: value });
    else sorted.said.push(block);
  }
  return sorted;
}

function toldAs({ kind, raw }: { kind: string; raw: unknown }, sorted: SortedParts): TextPart {
  const json = JSON.stringify(raw) ?? "";
  if (json.length <= INLINE_LIMIT) return { type: "text", text: `[${kind} ${json}]` };
  sorted.data.push({ kind: `${kind} part`, raw });
  return { type: "text", text: `[${kind}, ${json.length} characters]` };
}

/** What a user can say: a text alone as it is, else parts. */
export function userContent(parts: SortedParts): string | (TextPart | ImagePart)[] {
  const content = parts.said.map((part) =>
    part.type === "text" || part.type === "image" ? part : toldAs({ kind: part.type, raw: part }, parts),
  );
  const [first] = content;
  return content.length === 1 && first?.type === "text" ? first.text : content;
}

/** What an assistant can say; calls without an id get one. */
export function assistantContent(parts: SortedParts, key: string): AssistantMessage["content"] {
  const calls = new Map<string, string>();
  const content: AssistantMessage["content"] = [];
  for (const part of parts.said) {
    if (part.type === "image") content.push(toldAs({ kind: "image", raw: part }, parts));
    else if (part.type !== "toolCall") content.push(part);
    else {
      const json = JSON.stringify(part);
      // The same call told twice is one.
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
    ...(at === undefined ? {} : { timestamp: at }),
  };
}

/** Usage in the words of Anthropic, OpenAI or pi; undefined where nothing is told. */
export function usageOf(value: unknown): Usage | undefined {
  const usage = fieldsOf(value);
  if (!usage) return undefined;
  const first = (...names: string[]): number | undefined =>
    names.map((name) => numberOf(usage[name])).find((number) => number !== undefined);
  const cacheRead = first("cacheRead", "cache_read_input_tokens", "cached_input_tokens");
  const cacheWrite = first("cacheWrite", "cache_creation_input_tokens", "cache_write_input_tokens");
  const output = first("output", "output_tokens") ?? 0;
  const reasoning = first("reasoning", "reasoning_output_tokens");
  // OpenAI counts what was read from the cache as input.
  const shared = usage["cached_input_tokens"] === undefined ? 0 : (cacheRead ?? 0);
  const input = Math.max(0, (first("input", "input_tokens") ?? 0) - shared);
  if (input + output + (cacheRead ?? 0) === 0) return undefined;
  const cost = numberOf(fieldsOf(usage["cost"])?.["total"]) ?? numberOf(usage["cost"]);
  return {
    input,
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoning }),
    totalTokens: input + output + (cacheRead ?? 0) + (cacheWrite ?? 0),
    ...(cost === undefined ? {} : { cost }),
  };
}

const STOPS: Readonly<Record<string, StopReason>> = {
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

/** Where the source does not say why an answer ended, its calls do. */
export function stopReasonOf(value: unknown, content: AssistantMessage["content"]): StopReason {
  const told = typeof value === "string" ? STOPS[value] : undefined;
  return told ?? (content.some((part) => part.type === "toolCall") ? "toolUse" : "stop");
}
