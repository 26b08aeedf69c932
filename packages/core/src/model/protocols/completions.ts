/** Requests of the Chat Completions API. */
import { keyHeader } from "../quirks/key-header.ts";
import { imageFields } from "../../protocols/completions/completions-messages.ts";
import { fileFields } from "../../protocols/files.ts";
import type { ModelCall, ModelProtocol, RequestBody } from "../quirks/quirk-kinds.ts";
import type { AnswerTurn, PromptMessage, PromptPart } from "../prompt-types.ts";
import type { AnswerShape } from "../provider-types.ts";
import { sentSchema } from "./openai-schema.ts";
import { defined } from "../../data/defined.ts";

function userContent(content: readonly PromptPart[]): string | RequestBody[] {
  const [only] = content;
  if (content.length === 1 && only?.type === "text") return only.text;
  return content.map((part) => {
    if (part.type === "file") return { ...fileFields("openai-completions", part) };
    return part.type === "text" ? { type: "text", text: part.text } : imageFields(part);
  });
}

function assistantElement({ content }: AnswerTurn): RequestBody {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  const calls = content.flatMap((part) => {
    if (part.type !== "call") return [];
    const { id, name, arguments: args } = part;
    return [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }];
  });
  if (calls.length === 0) return { role: "assistant", content: text };
  return { role: "assistant", content: text === "" ? null : text, tool_calls: calls };
}

function elementsOf(message: PromptMessage, systemRole: string): RequestBody[] {
  switch (message.role) {
    case "system":
      return [{ role: systemRole, content: message.text }];
    case "user":
      return [{ role: "user", content: userContent(message.content) }];
    case "assistant":
      return [assistantElement(message)];
    case "tool":
      return message.content.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text }));
  }
}

function choiceOf(choice: AnswerShape["toolChoice"] = "auto"): unknown {
  return typeof choice === "object" ? { type: "function", function: { name: choice.name } } : choice;
}

function toolMembers({ tools, quirks, shape }: ModelCall): RequestBody {
  if (tools.length === 0) return {};
  const functions = tools.map(({ name, description, parameters }) => ({
    type: "function",
    function: { name, description, parameters: sentSchema(quirks, parameters) },
  }));
  return { tools: functions, tool_choice: choiceOf(shape.toolChoice) };
}

function answerFormat({ shape, quirks }: ModelCall): RequestBody {
  const { responseFormat } = shape;
  if (!responseFormat) return {};
  const { schema, strict = false, name = "response", description } = responseFormat;
  if (!schema) return { response_format: { type: "json_object" } };
  const sent = sentSchema(quirks, schema);
  return {
    response_format: { type: "json_schema", json_schema: { schema: sent, strict, name, description } },
  };
}

function shapeMembers(call: ModelCall): RequestBody {
  const { stop, verbosity, parallelToolCalls } = call.shape;
  return {
    ...defined({ parallel_tool_calls: parallelToolCalls }),
    ...answerFormat(call),
    ...(stop?.length ? { stop } : {}),
    ...defined({ verbosity }),
  };
}

export const COMPLETIONS: ModelProtocol = {
  api: "openai-completions",
  path: () => "/chat/completions",
  headers: (key) => keyHeader("openai-completions", key),
  body(call) {
    const { facts, prompt, quirks } = call;
    return {
      model: facts.model,
      ...quirks.members(facts),
      ...shapeMembers(call),
      messages: prompt.flatMap((message) => elementsOf(message, quirks.systemRole(facts))),
      ...toolMembers(call),
      stream: true,
      stream_options: { include_usage: true },
    };
  },
};
