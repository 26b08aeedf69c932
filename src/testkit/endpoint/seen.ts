/** A model request as it reached the endpoint, whichever of the two OpenAI protocols it came in. */
import { isRecord } from "../check.ts";
import type { RecordedRequest } from "./script.ts";

/** One thing of the conversation that the model sees. */
export interface SeenItem {
  /** `system` also for a developer's words, `tool` for the result of a call. */
  role: "system" | "user" | "assistant" | "tool";
  text: string;
  /** Ids of the calls that it holds, or of the one whose result it is. */
  callIds: string[];
}

export interface SeenRequest {
  items: SeenItem[];
  /** The names of the tools that the model was offered, with the namespace of those that stand in one. */
  tools: { name: string; namespace?: string }[];
}

/** Reads a request body of the Responses or the Chat Completions API. */
export function seen({ body }: RecordedRequest): SeenRequest {
  const tools = toolsOf(list(body["tools"]));
  if (!Array.isArray(body["input"]))
    return { items: list(body["messages"]).map((message) => chatItem(message)), tools };
  const instructions = typeof body["instructions"] === "string" ? body["instructions"] : "";
  const first: SeenItem[] = instructions === "" ? [] : [{ role: "system", text: instructions, callIds: [] }];
  return { items: [...first, ...list(body["input"]).flatMap((item) => responsesItem(item))], tools };
}

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function wordsOf(value: unknown): string {
  if (typeof value === "string") return value;
  return list(value)
    .map((part) => (typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function roleOf(role: unknown): SeenItem["role"] {
  if (role === "developer" || role === "system") return "system";
  return role === "assistant" || role === "tool" ? role : "user";
}

function responsesItem(item: Record<string, unknown>): SeenItem[] {
  const type = textOf(item["type"]) ?? "message";
  const callIds = typeof item["call_id"] === "string" ? [item["call_id"]] : [];
  if (type === "message") return [{ role: roleOf(item["role"]), text: wordsOf(item["content"]), callIds }];
  if (type.endsWith("_call_output")) return [{ role: "tool", text: wordsOf(item["output"]), callIds }];
  if (type.endsWith("_call"))
    return [{ role: "assistant", text: textOf(item["arguments"]) ?? textOf(item["input"]) ?? "", callIds }];
  return [];
}

function chatItem(message: Record<string, unknown>): SeenItem {
  const calls = list(message["tool_calls"]);
  const given = calls.map((call) =>
    isRecord(call["function"]) ? String(call["function"]["arguments"]) : "",
  );
  const result = message["tool_call_id"];
  return {
    role: roleOf(message["role"]),
    text: [wordsOf(message["content"]), ...given].join(""),
    callIds: typeof result === "string" ? [result] : calls.map((call) => String(call["id"])),
  };
}

function toolsOf(tools: readonly Record<string, unknown>[]): SeenRequest["tools"] {
  return tools.flatMap((tool) => {
    const inner = list(tool["tools"]);
    const namespace = String(tool["name"]);
    if (inner.length > 0) return inner.map(({ name }) => ({ name: String(name), namespace }));
    const named = isRecord(tool["function"]) ? tool["function"]["name"] : tool["name"];
    return typeof named === "string" ? [{ name: named }] : [];
  });
}
