/** The content of a message in the forms that programs use: those of the model protocols, and their own beside them. */
import {
  asString,
  isObjectOrList,
  isRecord,
  listOf,
  recordOf,
  type Fields,
} from "@pagurus/core/data/record-fields";
import type { KeptPart } from "./kept-record.ts";

/** Keys whose values are no words: names of types, signatures, ciphertexts and ids. */
const NO_WORDS =
  /^(?:type|role|signature|thoughtSignature|thinkingSignature|textSignature|thought_signature|encrypted_content|encryptedContent|.*uuid|id|.*Id|.*_id|timestamp|hash|etag)$/i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}$/i;
const DATE = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?$/;
/** Base64 of an image or of a ciphertext. */
const LONG_CODE = /^[\w+/=-]{200,}$|^data:[\w/+.-]+;base64,/;
const MOST_DEPTH = 64;

/** Every string in a value that has words. */
export function stringsOf(value: unknown): string[] {
  const found: string[] = [];
  collect(value, "", 0, found);
  return found;
}

function collect(value: unknown, key: string, depth: number, found: string[]): void {
  if (typeof value === "string") {
    if (value.trim() !== "" && !isCode(key, value)) found.push(value);
    return;
  }
  if (!isObjectOrList(value) || depth > MOST_DEPTH) return;
  if (Array.isArray(value)) for (const each of value as unknown[]) collect(each, key, depth + 1, found);
  else for (const [name, each] of Object.entries(value)) collect(each, name, depth + 1, found);
}

/** Whether a string has no words. */
function isCode(key: string, value: string): boolean {
  if (/\s/.test(value) && !value.startsWith("data:")) return false;
  return NO_WORDS.test(key) || UUID.test(value) || DATE.test(value) || LONG_CODE.test(value);
}

const TEXTS = new Set(["text", "input_text", "output_text", "summary_text"]);
const THOUGHTS = new Set(["thinking", "reasoning", "reasoning_text", "redacted_thinking", "thinking_text"]);
const CALLS = new Set([
  "tool_use",
  "server_tool_use",
  "mcp_tool_use",
  "toolCall",
  "tool-call",
  "function_call",
  "custom_tool_call",
  "local_shell_call",
  "web_search_call",
  "tool_search_call",
  "toolRequest",
]);
const RESULTS =
  /^(?:.*tool_result|toolResult|tool-result|function_call_output|custom_tool_call_output|.*_call_output|toolResponse|.*_tool_result)$/;
const IMAGES = new Set(["image", "input_image", "image_url", "document", "input_file", "input_audio"]);

/** The parts of a content, in order; each string in it that has words is in one of them. */
export function partsOf(content: unknown): KeptPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }];
  if (Array.isArray(content)) return (content as unknown[]).flatMap(partsOf);
  return isRecord(content) ? partOf(content) : [];
}

function partOf(part: Fields): KeptPart[] {
  const type = asString(part["type"]) ?? "";
  if (TEXTS.has(type)) return withOthers(part, ["type", "text"], textPart("text", part["text"]));
  if (THOUGHTS.has(type)) return thought(part);
  if (CALLS.has(type)) return call(part);
  if (RESULTS.test(type)) return result(part, part["content"] ?? part["output"] ?? part["toolResult"]);
  if (type === "tool" && isRecord(part["state"])) return toolOfOpenCode(part, part["state"]);
  if (IMAGES.has(type)) return [image(part)];
  return withoutType(part);
}

/** Parts of Gemini, and forms that name no type. */
function withoutType(part: Fields): KeptPart[] {
  if (isRecord(part["functionCall"])) return call(part["functionCall"]);
  if (isRecord(part["functionResponse"]))
    return result(part["functionResponse"], part["functionResponse"]["response"]);
  if (isRecord(part["inlineData"]) || isRecord(part["fileData"])) return [image(part)];
  const text = asString(part["text"]);
  if (text !== undefined) {
    const kind = part["thought"] === true ? "thinking" : "text";
    return withOthers(part, ["text", "type", "thought"], textPart(kind, text));
  }
  return dataPart(part);
}

function textPart(kind: "text" | "thinking", text: unknown): KeptPart[] {
  return typeof text === "string" && text !== "" ? [{ kind, text }] : [];
}

/** Strings beside the main one, for example titles of citations. */
function withOthers(part: Fields, used: readonly string[], parts: KeptPart[]): KeptPart[] {
  const others = Object.fromEntries(Object.entries(part).filter(([key]) => !used.includes(key)));
  return [...parts, ...dataPart(others)];
}

function dataPart(value: unknown): KeptPart[] {
  const text = stringsOf(value).join("\n");
  return text === "" ? [] : [{ kind: "data", text }];
}

function thought(part: Fields): KeptPart[] {
  const texts = [part["thinking"], part["text"], part["summary"], part["content"]].flatMap(stringsOf);
  return textPart("thinking", texts.join("\n"));
}

const OF_CALLS = ["input", "arguments", "args", "action", "name", "toolName", "type", "toolCall"];

function call(part: Fields): KeptPart[] {
  // Goose wraps the call of a request.
  const wrapped = recordOf(recordOf(part["toolCall"])["value"]);
  const source = Object.keys(wrapped).length > 0 ? wrapped : part;
  const name = asString(source["name"] ?? source["toolName"]) ?? asString(part["type"]) ?? "";
  const { input, arguments: args, args: shortArgs, action } = source as Record<string, unknown>;
  const made = input ?? args ?? shortArgs ?? action ?? {};
  const text = typeof made === "string" ? made : JSON.stringify(made);
  return withOthers(part, OF_CALLS, [{ kind: "call", name, text }]);
}

const OF_RESULTS = ["content", "output", "toolResult", "response", "name", "toolName", "type"];

function result(part: Fields, content: unknown): KeptPart[] {
  const name = asString(part["toolName"] ?? part["name"]);
  const inner = isRecord(content) && "content" in content ? content["content"] : content;
  const text =
    typeof inner === "string"
      ? inner
      : Array.isArray(inner)
        ? partsOf(inner)
            .map((each) => each.text)
            .join("\n")
        : stringsOf(inner).join("\n");
  const beside = inner === content ? [] : stringsOf({ ...recordOf(content), content: null });
  const words = [text, ...beside].filter((each) => each !== "").join("\n");
  return withOthers(part, OF_RESULTS, [{ kind: "result", text: words, ...(name !== undefined && { name }) }]);
}

function toolOfOpenCode(part: Fields, state: Fields): KeptPart[] {
  const name = asString(part["tool"]) ?? "";
  const { input, output, error, ...others } = state as Record<string, unknown>;
  const text = [output, error].flatMap(stringsOf).join("\n");
  return [
    { kind: "call", name, text: JSON.stringify(input ?? {}) },
    ...(text === "" ? [] : [{ kind: "result" as const, name, text }]),
    ...dataPart(others),
  ];
}

/** An image is kept in the bytes of its file; here it has its kind and size. */
function image(part: Fields): KeptPart {
  const source = [part, ...Object.values(part)].map(recordOf);
  const type = source
    .map((each) => asString(each["media_type"] ?? each["mimeType"] ?? each["mime_type"]))
    .find((each) => each !== undefined);
  const data = JSON.stringify(part).length;
  return { kind: "image", text: [`${type ?? "image"}, ${data} characters`, ...stringsOf(part)].join("\n") };
}

/** Whether some part of a list is of a kind. */
export function hasKind(content: unknown, kind: KeptPart["kind"]): boolean {
  return listOf(content).some((part) => partsOf(part).some((each) => each.kind === kind));
}
