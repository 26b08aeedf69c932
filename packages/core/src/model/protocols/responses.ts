/** Requests of the Responses API. */
import { keyHeader } from "../quirks/key-header.ts";
import type { ThinkingPart } from "@pagurus/contract/message";
import { fileFields } from "../../protocols/files.ts";
import { imageDataUrl } from "../../protocols/protocol-parts.ts";
import { contentItems } from "../../protocols/responses/responses-items.ts";
import { reasoningItem } from "../../protocols/responses/responses-reasoning.ts";
import type { ModelCall, ModelProtocol, RequestBody } from "../quirks/quirk-kinds.ts";
import type { AnswerTurn, PromptMessage, PromptResult } from "../prompt-types.ts";
import type { AnswerShape } from "../provider-types.ts";
import { sentSchema } from "./openai-schema.ts";
import { defined } from "../../data/defined.ts";

interface ReasoningElement extends RequestBody {
  encrypted_content: string | null;
  summary: { type: "summary_text"; text: string }[];
}

/** The elements of an answer; the parts of one reasoning item are one element. */
function answerElements({ content }: AnswerTurn): RequestBody[] {
  const elements: RequestBody[] = [];
  const reasoning = new Map<string, ReasoningElement>();
  for (const part of content) {
    if (part.type === "text") elements.push({ role: "assistant", content: part.text });
    else if (part.type === "thinking") addThinking(elements, reasoning, part);
    else {
      const { id, name, arguments: args } = part;
      elements.push({ type: "function_call", call_id: id, name, arguments: JSON.stringify(args) });
    }
  }
  return elements;
}

function addThinking(
  elements: RequestBody[],
  reasoning: Map<string, ReasoningElement>,
  part: ThinkingPart,
): void {
  const item = reasoningItem(part);
  if (!item) return;
  const texts = part.thinking === "" ? [] : [{ type: "summary_text" as const, text: part.thinking }];
  const open = reasoning.get(item.id);
  if (open) {
    open.summary.push(...texts);
    if (item.encrypted !== undefined) open.encrypted_content = item.encrypted;
    return;
  }
  const element: ReasoningElement = {
    type: "reasoning",
    id: item.id,
    encrypted_content: item.encrypted ?? null,
    summary: texts,
  };
  reasoning.set(item.id, element);
  elements.push(element);
}

function outputOf({ text, images }: PromptResult): unknown {
  if (images.length === 0) return text;
  return contentItems([{ type: "text", text }, ...images]);
}

function elementsOf(message: PromptMessage, systemRole: string): RequestBody[] {
  switch (message.role) {
    case "system":
      return [{ role: systemRole, content: message.text }];
    case "user":
      return [
        {
          role: "user",
          content: message.content.map((part) => {
            if (part.type === "file") return fileFields("openai-responses", part);
            return part.type === "text"
              ? { type: "input_text", text: part.text }
              : { type: "input_image", image_url: imageDataUrl(part) };
          }),
        },
      ];
    case "assistant":
      return answerElements(message);
    case "tool":
      return message.content.map((result) => ({
        type: "function_call_output",
        call_id: result.id,
        output: outputOf(result),
      }));
  }
}

function choiceOf(choice: AnswerShape["toolChoice"] = "auto"): unknown {
  return typeof choice === "object" ? { type: "function", name: choice.name } : choice;
}

function toolMembers({ tools, quirks, shape }: ModelCall): RequestBody {
  if (tools.length === 0) return {};
  const functions = tools.map(({ name, description, parameters }) => ({
    type: "function",
    name,
    description,
    parameters: sentSchema(quirks, parameters),
    // The API is strict by default, and strict mode refuses schemas with optional properties.
    strict: false,
  }));
  return { tools: functions, tool_choice: choiceOf(shape.toolChoice) };
}

function textFormat({ shape, quirks }: ModelCall): RequestBody {
  const { responseFormat } = shape;
  if (!responseFormat) return {};
  const { schema, strict = false, name = "response", description } = responseFormat;
  if (!schema) return { format: { type: "json_object" } };
  const sent = sentSchema(quirks, schema);
  return { format: { type: "json_schema", strict, name, description, schema: sent } };
}

function shapeMembers(call: ModelCall): RequestBody {
  const { verbosity, parallelToolCalls } = call.shape;
  const text = { ...textFormat(call), ...defined({ verbosity }) };
  return {
    ...(Object.keys(text).length === 0 ? {} : { text }),
    ...defined({ parallel_tool_calls: parallelToolCalls }),
  };
}

export const RESPONSES: ModelProtocol = {
  api: "openai-responses",
  path: () => "/responses",
  headers: (key) => keyHeader("openai-responses", key),
  body(call) {
    const { facts, prompt, quirks } = call;
    return {
      model: facts.model,
      input: prompt.flatMap((message) => elementsOf(message, quirks.systemRole(facts))),
      ...quirks.members(facts),
      ...shapeMembers(call),
      ...toolMembers(call),
      stream: true,
    };
  },
};
