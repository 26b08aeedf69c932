/** Bodies as harnesses write them in each protocol, and what a model reads in one: both without the dialects' own code. */
import type { AgentMessage } from "../../../packages/contract/src/message.ts";
import { completionsDialect } from "../../../packages/gateway/src/dialect/completions/completions-dialect.ts";
import type { Dialect } from "../../../packages/gateway/src/dialect/wire-dialect.ts";
import { generateContentDialect } from "../../../packages/gateway/src/dialect/generate-content/generate-content-dialect.ts";
import { messagesDialect } from "../../../packages/gateway/src/dialect/messages/messages-dialect.ts";
import { responsesDialect } from "../../../packages/gateway/src/dialect/responses/responses-dialect.ts";

type Json = Record<string, unknown>;

export interface Protocol {
  dialect: Dialect;
  path: string;
  list: string;
  /** Elements, with JSON formatting that none of our encoders writes. */
  elements(message: AgentMessage, next?: AgentMessage): Json[];
  /** Elements before the conversation. */
  rules: Json[];
  /** An element's content, in pieces: `["call", id, …]`, `["result", id, …]`, text. */
  pieces(element: Json): string[][];
}

const IMAGE = "iVBORw0KGgo=";

interface Part {
  type: string;
  text?: string;
  id?: string;
  name?: string;
  arguments?: unknown;
}

function partsOf({ content }: AgentMessage): Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : (content as Part[]);
}

function wordsOf(message: AgentMessage): string {
  return partsOf(message)
    .map(({ text }) => text ?? "")
    .join("\n");
}

/** The content of the engine's context, in the same pieces; images of results are with the results or after them. */
export function contextPieces(messages: readonly AgentMessage[]): string[][] {
  return messages.flatMap((message): string[][] => {
    if (message.role === "toolResult") return [["result", message.toolCallId, wordsOf(message)]];
    return partsOf(message).map((part) =>
      part.type === "toolCall"
        ? ["call", part.id ?? "", JSON.stringify(part.arguments)]
        : part.type === "image"
          ? ["image"]
          : [message.role, part.text ?? ""],
    );
  });
}

function listOf(value: unknown): Json[] {
  return typeof value === "string" ? [{ type: "text", text: value }] : ((value ?? []) as Json[]);
}

const completions: Protocol = {
  dialect: completionsDialect,
  path: "/chat/completions",
  list: "messages",
  rules: [{ role: "system", content: "rules" }],
  elements(message) {
    if (message.role === "toolResult")
      return [{ tool_call_id: message.toolCallId, role: "tool", content: wordsOf(message) }];
    const parts = partsOf(message);
    if (message.role === "user") {
      const content = parts.map((part) =>
        part.type === "image"
          ? { image_url: { url: `data:image/png;base64,${IMAGE}` }, type: "image_url" }
          : { text: part.text, type: "text" },
      );
      return [{ content: parts.length === 1 ? parts[0]?.text : content, role: "user" }];
    }
    const calls = parts
      .filter(({ type }) => type === "toolCall")
      .map(({ id, name, arguments: args }) => ({
        type: "function",
        function: { arguments: JSON.stringify(args, undefined, 1), name },
        id,
      }));
    const words = parts.filter(({ type }) => type === "text").map(({ text }) => text);
    return [
      {
        content: words.length > 0 ? words.join("") : null,
        role: "assistant",
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      },
    ];
  },
  pieces({ role, content, tool_calls: calls, tool_call_id: id }) {
    if (role === "system") return [];
    const words = listOf(content).map((part) => part["text"] as string | undefined);
    if (role === "tool") return [["result", String(id), words.join("\n")]];
    return [
      ...words.map((text) => (text === undefined ? ["image"] : [String(role), text])),
      ...listOf(calls).map((call) => {
        const { arguments: args } = call["function"] as { arguments: string };
        return ["call", String(call["id"]), JSON.stringify(JSON.parse(args))];
      }),
    ];
  },
};

const messages: Protocol = {
  dialect: messagesDialect,
  path: "/messages",
  list: "messages",
  rules: [],
  elements(message) {
    if (message.role === "toolResult")
      return [
        {
          role: "user",
          content: [
            {
              tool_use_id: message.toolCallId,
              content: [{ text: wordsOf(message), type: "text" }],
              type: "tool_result",
            },
          ],
        },
      ];
    const content = partsOf(message).map((part) =>
      part.type === "toolCall"
        ? { id: part.id, type: "tool_use", name: part.name, input: part.arguments }
        : part.type === "image"
          ? { source: { type: "base64", data: IMAGE, media_type: "image/png" }, type: "image" }
          : { text: part.text, type: "text" },
    );
    return [{ role: message.role, content }];
  },
  pieces({ role, content }) {
    return listOf(content).map((block) => {
      if (block["type"] === "tool_use") return ["call", String(block["id"]), JSON.stringify(block["input"])];
      if (block["type"] === "tool_result") {
        const words = listOf(block["content"]).map((part) => String(part["text"]));
        return ["result", String(block["tool_use_id"]), words.join("\n")];
      }
      return block["type"] === "image" ? ["image"] : [String(role), String(block["text"])];
    });
  },
};

const responses: Protocol = {
  dialect: responsesDialect,
  path: "/responses",
  list: "input",
  rules: [{ role: "developer", content: [{ text: "rules", type: "input_text" }], type: "message" }],
  elements(message) {
    if (message.role === "toolResult")
      return [{ output: wordsOf(message), call_id: message.toolCallId, type: "function_call_output" }];
    const kind = message.role === "user" ? "input_text" : "output_text";
    const parts = partsOf(message);
    const list = parts
      .filter(({ type }) => type !== "toolCall")
      .map((part) =>
        part.type === "image"
          ? { image_url: `data:image/png;base64,${IMAGE}`, type: "input_image" }
          : { text: part.text, type: kind },
      );
    const calls = parts
      .filter(({ type }) => type === "toolCall")
      .map(({ id, name, arguments: args }) => ({
        call_id: id,
        type: "function_call",
        name,
        arguments: JSON.stringify(args, undefined, 1),
      }));
    const thinking =
      message.role === "assistant" ? [{ encrypted_content: "c2VhbGVk", type: "reasoning", summary: [] }] : [];
    return [
      ...thinking,
      ...(list.length > 0 ? [{ content: list, type: "message", role: message.role }] : []),
      ...calls,
    ];
  },
  pieces({ type, role, content, call_id: id, arguments: args, output }) {
    if (type === "function_call") return [["call", String(id), JSON.stringify(JSON.parse(String(args)))]];
    if (type === "function_call_output") return [["result", String(id), String(output)]];
    if (type === "reasoning" || role === "developer") return [];
    return listOf(content).map((part) =>
      typeof part["text"] === "string" ? [String(role), part["text"]] : ["image"],
    );
  },
};

const generateContent: Protocol = {
  dialect: generateContentDialect,
  path: "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
  list: "contents",
  rules: [],
  elements(message, next) {
    if (message.role === "toolResult") {
      const { toolCallId: id, toolName: name } = message;
      results.push({ functionResponse: { response: { output: wordsOf(message) }, name, id } });
      // The API counts the results that follow calls.
      return next?.role === "toolResult" ? [] : [{ role: "user", parts: results.splice(0) }];
    }
    const parts = partsOf(message).map((part) =>
      part.type === "toolCall"
        ? { functionCall: { args: part.arguments, name: part.name, id: part.id }, thoughtSignature: "c2ln" }
        : part.type === "image"
          ? { inlineData: { data: IMAGE, mimeType: "image/png" } }
          : { text: part.text },
    );
    return [{ role: message.role === "assistant" ? "model" : "user", parts }];
  },
  pieces({ role, parts }) {
    return listOf(parts).map((part) => {
      const call = part["functionCall"] as Json | undefined;
      if (call) return ["call", String(call["id"]), JSON.stringify(call["args"])];
      const result = part["functionResponse"] as Json | undefined;
      if (result) {
        const { output, error } = result["response"] as Json;
        return ["result", String(result["id"]), String(output ?? error)];
      }
      if (part["inlineData"]) return ["image"];
      return [role === "model" ? "assistant" : "user", String(part["text"])];
    });
  },
};

/** Consecutive results in one element, as Claude Code writes them. */
const joined: Protocol = {
  ...messages,
  elements(message, next) {
    const [element] = messages.elements(message, next);
    if (message.role !== "toolResult" || !element) return element ? [element] : [];
    results.push(...listOf(element["content"]));
    return next?.role === "toolResult" ? [] : [{ role: "user", content: results.splice(0) }];
  },
};
const results: Json[] = [];

export const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  "Chat Completions": completions,
  Messages: messages,
  "Messages with results in one element": joined,
  generateContent,
  Responses: responses,
};

export function elementsOf(protocol: Protocol, list: readonly AgentMessage[]): Json[] {
  return list.flatMap((message, at) => protocol.elements(message, list[at + 1]));
}

/** Elements with the spaces of a harness's own writer, so that its bytes differ from ours. */
export function bodyOf({ list, rules }: Protocol, elements: readonly Json[]): Buffer {
  const written = [...rules, ...elements].map(
    (element) => ` ${JSON.stringify(element).replace(/^\{/, "{ ")}`,
  );
  return Buffer.from(`{"model":"m","max_tokens":99, "stream":true,"${list}" : [${written.join(",\n")} ]}`);
}

export function elementsIn({ list }: Protocol, body: readonly Buffer[]): Json[] {
  return (JSON.parse(Buffer.concat(body).toString()) as Record<string, Json[]>)[list] ?? [];
}

/** The same without the ids of calls, which may differ if a server reuses one. */
export function unnamed(pieces: readonly string[][]): string[][] {
  return pieces.map((piece) =>
    piece[0] === "call" || piece[0] === "result" ? piece.toSpliced(1, 1) : piece,
  );
}

/** Each result belongs to a call right before, each call has one: as every provider requires. */
export function pairFault(pieces: readonly string[][]): string | undefined {
  let open: string[] = [];
  let hasResults = false;
  for (const [kind, id = ""] of pieces) {
    if (kind === "result") {
      const at = open.indexOf(id);
      if (at < 0) return `a result of ${id} without its call`;
      open.splice(at, 1);
      hasResults = true;
    } else {
      if (open.length > 0 && (hasResults || (kind !== "call" && kind !== "assistant")))
        return `no result of ${open.join()}`;
      hasResults = false;
      if (kind === "call") open.push(id);
    }
  }
  return open.length > 0 ? `no result of ${open.join()}` : undefined;
}
