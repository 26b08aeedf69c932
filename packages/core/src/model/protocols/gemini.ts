/** Requests of Google's generateContent. */
import { keyHeader } from "../quirks/key-header.ts";
import { isRecord, recordOf } from "../../data/record-fields.ts";
import { fileFields } from "../../protocols/files.ts";
import { callPart, contentParts, type Part } from "../../protocols/gemini/gemini-parts.ts";
import type { ModelCall, ModelProtocol, Quirks, RequestBody } from "../quirks/quirk-kinds.ts";
import type { AnswerTurn, Prompt, PromptMessage, PromptPart, PromptResult } from "../prompt-types.ts";
import type { AnswerShape } from "../provider-types.ts";
import { defined } from "../../data/defined.ts";

interface Content {
  role: "user" | "model";
  parts: Part[];
}

/** The parts of an answer. A call without a signature gets the foreign one, unless a call before it in the answer is signed. */
function answerParts({ content }: AnswerTurn, { foreignSignature }: Quirks): Part[] {
  let isSigned = false;
  return content.map((part): Part => {
    if (part.type === "text") return { text: part.text };
    if (part.type === "thinking")
      return { text: part.thinking, thought: true, thoughtSignature: part.signature };
    const own = part.signature;
    isSigned ||= own !== undefined;
    const signature = own ?? (isSigned ? undefined : foreignSignature);
    return { ...callPart(part.id, part.name, part.arguments), ...defined({ thoughtSignature: signature }) };
  });
}

function resultPart({ id, name, text }: PromptResult, more: Part = {}): Part {
  return { functionResponse: { id, name, response: { name, content: text }, ...more } };
}

function resultAsParts(result: PromptResult, { imagesAfterResults }: Quirks): Part[] {
  const { images } = result;
  if (images.length === 0) return [resultPart(result)];
  if (!imagesAfterResults) return [resultPart(result, { parts: contentParts(images) })];
  const note = { text: "Tool executed successfully and returned this image as a response" };
  return [resultPart(result), ...contentParts(images).flatMap((image) => [image, note])];
}

function userParts(part: PromptPart): Part[] {
  return part.type === "file" ? [{ ...fileFields("google-generative-ai", part) }] : contentParts([part]);
}

function contentOf(message: Exclude<PromptMessage, { role: "system" }>, quirks: Quirks): Content {
  switch (message.role) {
    case "user":
      return { role: "user", parts: message.content.flatMap(userParts) };
    case "assistant":
      return { role: "model", parts: answerParts(message, quirks) };
    case "tool":
      return { role: "user", parts: message.content.flatMap((result) => resultAsParts(result, quirks)) };
  }
}

function contentMembers(prompt: Prompt, quirks: Quirks): RequestBody {
  const texts = prompt.flatMap((message) => (message.role === "system" ? [message.text] : []));
  const contents = prompt.flatMap((message) =>
    message.role === "system" ? [] : [contentOf(message, quirks)],
  );
  if (texts.length === 0) return { contents };
  if (!quirks.systemInUser)
    return { contents, systemInstruction: { parts: texts.map((text) => ({ text })) } };
  const [first] = contents;
  if (first?.role === "user") first.parts.unshift({ text: `${texts.join("\n\n")}\n\n` });
  return { contents };
}

const CALLING_MODES = { auto: "AUTO", required: "ANY", none: "NONE" };

function choiceOf(choice: AnswerShape["toolChoice"] = "auto"): RequestBody {
  if (typeof choice === "object") return { mode: "ANY", allowedFunctionNames: [choice.name] };
  return { mode: CALLING_MODES[choice] };
}

function toolMembers({ tools, shape }: ModelCall): RequestBody {
  if (tools.length === 0) return {};
  const functionDeclarations = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }));
  return {
    tools: [{ functionDeclarations }],
    toolConfig: { functionCallingConfig: choiceOf(shape.toolChoice) },
  };
}

/** The schema with each `const` as a list of one value, as the API has no `const`. */
function geminiSchema(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const { const: only, ...result } = schema;
  if (only !== undefined) result["enum"] = [only];
  for (const name of ["items", "additionalProperties", "anyOf", "oneOf"]) {
    const inner = result[name];
    if (Array.isArray(inner)) result[name] = inner.map(geminiSchema);
    else if (isRecord(inner)) result[name] = geminiSchema(inner);
  }
  for (const name of ["properties", "$defs"])
    if (isRecord(result[name]))
      result[name] = Object.fromEntries(
        Object.entries(result[name]).map(([key, inner]) => [key, geminiSchema(inner)]),
      );
  return result;
}

/** The members by model, with those of the shape. */
function members({ quirks, facts, shape }: ModelCall): RequestBody {
  const own = quirks.members(facts);
  const { stop, responseFormat } = shape;
  const schema = responseFormat?.schema;
  return {
    ...own,
    generationConfig: {
      ...recordOf(own["generationConfig"]),
      ...(stop?.length ? { stopSequences: stop } : {}),
      ...(responseFormat ? { responseMimeType: "application/json" } : {}),
      ...(schema ? { responseJsonSchema: geminiSchema(schema) } : {}),
    },
  };
}

export const GEMINI: ModelProtocol = {
  api: "google-generative-ai",
  path: (model) => `/${model.includes("/") ? model : `models/${model}`}:streamGenerateContent?alt=sse`,
  headers: (key) => keyHeader("google-generative-ai", key),
  body: (call) => ({
    ...members(call),
    ...contentMembers(call.prompt, call.quirks),
    ...toolMembers(call),
  }),
};
