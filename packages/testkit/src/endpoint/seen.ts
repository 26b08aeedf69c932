/** A model request in one form for all protocols of the endpoint. */
import type { RecordedRequest } from "./script.ts";
import { asString, isRecord, recordOf } from "@pagurus/core/data/record-fields";

/** One item of the conversation that the model sees. */
export interface SeenItem {
  /** `system` also for developer messages, `tool` for the result of a call. */
  role: "system" | "user" | "assistant" | "tool";
  text: string;
  /** Ids of its calls, or of the call whose result it is. */
  callIds: string[];
  /** Names of the tools that it calls; absent if it calls none. */
  calls?: string[];
  /** Images that it holds, as URLs; absent where there are none. */
  images?: string[];
}

export interface SeenRequest {
  items: SeenItem[];
  /** Names of the tools offered to the model, with their namespace if any. */
  tools: { name: string; namespace?: string }[];
}

/** Reads a request body of the Responses, the Chat Completions, the Messages or the generateContent API. */
export function seen({ body, path }: RecordedRequest): SeenRequest {
  if (path.endsWith("/messages")) return messagesSeen(body);
  if (Array.isArray(body["contents"])) return googleSeen(body);
  const tools = toolsOf(recordList(body["tools"]));
  if (!Array.isArray(body["input"]))
    return { items: recordList(body["messages"]).map((message) => chatItem(message)), tools };
  const instructions = typeof body["instructions"] === "string" ? body["instructions"] : "";
  const first: SeenItem[] = instructions === "" ? [] : [{ role: "system", text: instructions, callIds: [] }];
  return { items: [...first, ...recordList(body["input"]).flatMap((item) => responsesItem(item))], tools };
}

/** Anthropic's form: tool results are parts of a user message, and a tool of an MCP server has the server's name in its own. */
function messagesSeen(body: Record<string, unknown>): SeenRequest {
  const system: SeenItem[] = wordsOf(body["system"]) === "" ? [] : [item("system", body["system"])];
  const items = recordList(body["messages"]).flatMap(({ role, content }): SeenItem[] => {
    const parts = recordList(content);
    const results = parts.filter(({ type }) => type === "tool_result");
    const others = parts.filter(({ type }) => type !== "tool_result");
    const calls = parts.filter(({ type }) => type === "tool_use");
    const given = calls.map(({ input }) => JSON.stringify(input)).join("");
    const rest = typeof content === "string" ? content : others;
    const ids = calls.map(({ id }) => String(id));
    const own = { ...item(roleOf(role), rest, given, ids), ...seenCalls(calls) };
    const message = typeof content === "string" || others.length > 0 ? [own] : [];
    return [
      ...results.map((part) => item("tool", part["content"], "", [String(part["tool_use_id"])])),
      ...message,
    ];
  });
  const tools = recordList(body["tools"]).map(({ name }) => {
    const [, namespace, own] = /^(mcp__.+?)__(.+)$/.exec(String(name)) ?? [];
    return namespace === undefined || own === undefined ? { name: String(name) } : { name: own, namespace };
  });
  return { items: [...system, ...items], tools };
}

function seenCalls(calls: readonly Record<string, unknown>[]): { calls?: string[] } {
  return calls.length === 0 ? {} : { calls: calls.map(({ name }) => String(name)) };
}

/**
 * Google's form: calls and results are parts, mostly without ids, and then known by their names. A tool of an MCP server has the
 * server's name in its own, as Gemini CLI writes it.
 */
function googleSeen(body: Record<string, unknown>): SeenRequest {
  const rules = wordsOf(recordOf(body["systemInstruction"])["parts"]);
  const system: SeenItem[] = rules === "" ? [] : [{ role: "system", text: rules, callIds: [] }];
  const items = recordList(body["contents"]).flatMap(({ role, parts }): SeenItem[] => {
    const results = recordList(parts).filter((part) => isRecord(part["functionResponse"]));
    const others = recordList(parts).filter((part) => !isRecord(part["functionResponse"]));
    const calls = others
      .map((part) => recordOf(part["functionCall"]))
      .filter(({ name }) => name !== undefined);
    const given = calls.map(({ args }) => JSON.stringify(args)).join("");
    const images = others.flatMap((part) => {
      const { mimeType, data } = recordOf(part["inlineData"]);
      return typeof data === "string" ? [`data:${String(mimeType)};base64,${data}`] : [];
    });
    const own: SeenItem = {
      role: role === "model" ? "assistant" : "user",
      text: wordsOf(others.filter(({ thought }) => thought !== true)) + given,
      callIds: calls.map(({ id, name }) => String(id ?? name)),
      ...seenCalls(calls),
      ...(images.length === 0 ? {} : { images }),
    };
    const answered = results.map((part): SeenItem => {
      const { id, name, response } = recordOf(part["functionResponse"]);
      const { output } = recordOf(response);
      const text = typeof output === "string" ? output : JSON.stringify(response);
      return { role: "tool", text, callIds: [String(id ?? name)] };
    });
    return others.length > 0 ? [...answered, own] : answered;
  });
  const declared = recordList(body["tools"]).flatMap((tool) => recordList(tool["functionDeclarations"]));
  const tools = declared.map(({ name }) => {
    const [, namespace, own] = /^(mcp_[^_]+)_(.+)$/.exec(String(name)) ?? [];
    return namespace === undefined || own === undefined ? { name: String(name) } : { name: own, namespace };
  });
  return { items: [...system, ...items], tools };
}

function item(role: SeenItem["role"], content: unknown, more = "", callIds: string[] = []): SeenItem {
  const images = recordList(content).flatMap(({ source }) =>
    isRecord(source) ? [`data:${String(source["media_type"])};base64,${String(source["data"])}`] : [],
  );
  const shown = images.length === 0 ? {} : { images };
  return { role, text: wordsOf(content) + more, callIds, ...shown };
}

function recordList(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function wordsOf(value: unknown): string {
  if (typeof value === "string") return value;
  return recordList(value)
    .map((part) => (typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}

/** Parts that are images: `image_url` is a text in the Responses API and an object in the other one. */
function seenImages(value: unknown): { images?: string[] } {
  const images = recordList(value).flatMap(({ image_url: at }) => {
    const url = isRecord(at) ? at["url"] : at;
    return typeof url === "string" ? [url] : [];
  });
  return images.length === 0 ? {} : { images };
}

function roleOf(role: unknown): SeenItem["role"] {
  if (role === "developer" || role === "system") return "system";
  return role === "assistant" || role === "tool" ? role : "user";
}

function responsesItem(item: Record<string, unknown>): SeenItem[] {
  const type = asString(item["type"]) ?? "message";
  const callIds = typeof item["call_id"] === "string" ? [item["call_id"]] : [];
  const content = item["content"];
  if (type === "message")
    return [{ role: roleOf(item["role"]), text: wordsOf(content), callIds, ...seenImages(content) }];
  const output = item["output"];
  if (type.endsWith("_call_output"))
    return [{ role: "tool", text: wordsOf(output), callIds, ...seenImages(output) }];
  if (type.endsWith("_call"))
    return [
      {
        role: "assistant",
        text: asString(item["arguments"]) ?? asString(item["input"]) ?? "",
        callIds,
        ...seenCalls([item]),
      },
    ];
  return [];
}

function chatItem(message: Record<string, unknown>): SeenItem {
  const calls = recordList(message["tool_calls"]);
  const functions = calls.map((call) => recordOf(call["function"]));
  const given = functions.map((each) => asString(each["arguments"]) ?? "");
  const result = message["tool_call_id"];
  return {
    role: roleOf(message["role"]),
    text: [wordsOf(message["content"]), ...given].join(""),
    callIds: typeof result === "string" ? [result] : calls.map((call) => String(call["id"])),
    ...seenCalls(functions),
    ...seenImages(message["content"]),
  };
}

function toolsOf(tools: readonly Record<string, unknown>[]): SeenRequest["tools"] {
  return tools.flatMap((tool) => {
    const inner = recordList(tool["tools"]);
    const namespace = String(tool["name"]);
    if (inner.length > 0) return inner.map(({ name }) => ({ name: String(name), namespace }));
    const named = isRecord(tool["function"]) ? tool["function"]["name"] : tool["name"];
    return typeof named === "string" ? [{ name: named }] : [];
  });
}
