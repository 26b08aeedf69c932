/** Reads the four protocols' request bodies as one shape, so that one assertion serves them all. */
import type { Protocol, RecordedRequest } from "../servers/server.ts";

export interface WireMessage {
  role: "user" | "assistant" | "tool";
  text: string;
  calls: { id: string; name: string; arguments: unknown }[];
  results: { id: string; text: string }[];
}

export interface WireBody {
  system: string;
  tools: string[];
  messages: WireMessage[];
}

type Json = Record<string, unknown>;
const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const text = (value: unknown): string => {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return (value as Json[]).map((part) => (typeof part["text"] === "string" ? part["text"] : "")).join("");
};
const blank = (role: WireMessage["role"]): WireMessage => ({ role, text: "", calls: [], results: [] });

export function readBody(protocol: Protocol, request: RecordedRequest): WireBody {
  return READERS[protocol](request.body);
}

/** The Responses protocol has an item for each call; one answer of the model is one message here. */
function mergeAssistant(messages: readonly WireMessage[]): WireMessage[] {
  const merged: WireMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (message.role === "assistant" && last?.role === "assistant") {
      last.text += message.text;
      last.calls.push(...message.calls);
    } else merged.push(message);
  }
  return merged;
}

const READERS: Record<Protocol, (body: Json) => WireBody> = {
  "openai-responses": (body) => {
    const input = list(body["input"]);
    const system = input
      .filter((item) => item["role"] === "system" || item["role"] === "developer")
      .map((item) => text(item["content"]));
    const messages = input.flatMap((item): WireMessage[] => {
      if (item["type"] === "function_call") {
        const call = {
          id: String(item["call_id"]),
          name: String(item["name"]),
          arguments: JSON.parse(String(item["arguments"])) as unknown,
        };
        return [{ ...blank("assistant"), calls: [call] }];
      }
      if (item["type"] === "function_call_output") {
        return [{ ...blank("tool"), results: [{ id: String(item["call_id"]), text: text(item["output"]) }] }];
      }
      if (item["role"] === "user" || item["role"] === "assistant")
        return [{ ...blank(item["role"]), text: text(item["content"]) }];
      return [];
    });
    return {
      system: [text(body["instructions"]), ...system].join(""),
      tools: list(body["tools"]).map((tool) => String(tool["name"])),
      messages: mergeAssistant(messages),
    };
  },
  "openai-completions": (body) => {
    const all = list(body["messages"]);
    const messages = all.flatMap((item): WireMessage[] => {
      if (item["role"] === "tool")
        return [
          { ...blank("tool"), results: [{ id: String(item["tool_call_id"]), text: text(item["content"]) }] },
        ];
      if (item["role"] !== "user" && item["role"] !== "assistant") return [];
      const calls = list(item["tool_calls"]).map((call) => {
        const made = call["function"] as Json;
        return {
          id: String(call["id"]),
          name: String(made["name"]),
          arguments: JSON.parse(String(made["arguments"])) as unknown,
        };
      });
      return [{ ...blank(item["role"]), text: text(item["content"]), calls }];
    });
    const system = all.filter((item) => item["role"] === "system").map((item) => text(item["content"]));
    return {
      system: system.join(""),
      tools: list(body["tools"]).map((tool) => String((tool["function"] as Json)["name"])),
      messages,
    };
  },
  "anthropic-messages": (body) => {
    const messages = list(body["messages"]).map((item): WireMessage => {
      const parts = list(item["content"]);
      const texts = parts.filter((part) => part["type"] === "text");
      const calls = parts
        .filter((part) => part["type"] === "tool_use")
        .map((part) => ({ id: String(part["id"]), name: String(part["name"]), arguments: part["input"] }));
      const results = parts
        .filter((part) => part["type"] === "tool_result")
        .map((part) => ({ id: String(part["tool_use_id"]), text: text(part["content"]) }));
      const role = item["role"] === "assistant" ? "assistant" : results.length > 0 ? "tool" : "user";
      return {
        role,
        text: typeof item["content"] === "string" ? item["content"] : text(texts),
        calls,
        results,
      };
    });
    return {
      system: text(body["system"]),
      tools: list(body["tools"]).map((tool) => String(tool["name"])),
      messages,
    };
  },
  google: (body) => {
    const messages = list(body["contents"]).map((item): WireMessage => {
      const parts = list(item["parts"]);
      const calls = parts.flatMap((part) => {
        const call = part["functionCall"] as Json | undefined;
        return call
          ? [{ id: String(call["id"] ?? call["name"]), name: String(call["name"]), arguments: call["args"] }]
          : [];
      });
      const results = parts.flatMap((part) => {
        const response = part["functionResponse"] as Json | undefined;
        return response
          ? [{ id: String(response["id"] ?? response["name"]), text: JSON.stringify(response["response"]) }]
          : [];
      });
      const role = item["role"] === "model" ? "assistant" : results.length > 0 ? "tool" : "user";
      return { role, text: text(parts), calls, results };
    });
    const instruction = body["systemInstruction"] as Json | undefined;
    const declared = list(body["tools"]).flatMap((tool) => list(tool["functionDeclarations"]));
    return {
      system: text(instruction?.["parts"]),
      tools: declared.map((tool) => String(tool["name"])),
      messages,
    };
  },
};

/** The order of messages, calls and results, as short words. */
export function outline(body: WireBody): string[] {
  return body.messages.flatMap((message) => [
    ...(message.text === "" ? [] : [`${message.role}:${message.text}`]),
    ...message.calls.map((call) => `call:${call.name}`),
    ...message.results.map(() => "result"),
  ]);
}
