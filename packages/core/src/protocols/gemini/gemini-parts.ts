/** Parts of Google's generateContent API as parts of our messages, and back. A new kind of part is added here. */
import type { AssistantMessage, ImagePart, TextPart, ToolResultMessage } from "@pagurus/contract/message";
import { type Fields, isRecord, listOf, recordOf, recordsOf, stringOf } from "../../data/record-fields.ts";
import type { FunctionCall } from "./gemini-calls.ts";
import { defined } from "../../data/defined.ts";

/** A part that we write. */
export type Part = Record<string, unknown>;

/** A member by its JSON name; the API also accepts the name with underscores, such as `inline_data`. */
export function memberOf(fields: Fields, name: string): unknown {
  return fields[name] ?? fields[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

/** The parts of a content. The API accepts one part in place of a list. */
export function partsOf(content: Fields): readonly Fields[] {
  const { parts } = content;
  return isRecord(parts) ? [parts] : recordsOf(parts);
}

/** The text of a part that is nothing else; undefined for a thought and for any other part. */
export function textOf(part: Fields): string | undefined {
  return typeof part["text"] === "string" && part["thought"] !== true ? part["text"] : undefined;
}

/** The fields of a function call; undefined for any other part. */
function callFields(part: Fields): Fields | undefined {
  const call = memberOf(part, "functionCall");
  return isRecord(call) ? call : undefined;
}

/** The fields of all calls, in order. */
export function callsIn(parts: readonly Fields[]): readonly Fields[] {
  return parts.map(callFields).filter((call) => call !== undefined);
}

/** The fields of a function's result; undefined for any other part. */
export function resultFields(part: Fields): Fields | undefined {
  const result = memberOf(part, "functionResponse");
  return isRecord(result) ? result : undefined;
}

function signatureOf(part: Fields): { signature?: string } {
  const signature = stringOf(memberOf(part, "thoughtSignature"));
  return signature === "" ? {} : { signature };
}

/** A part of a user's content or of a result; undefined for a kind without a counterpart, such as a video or a file's address. */
function contentPart(part: Fields): TextPart | ImagePart | undefined {
  if (typeof part["text"] === "string") return { type: "text", text: part["text"] };
  const data = recordOf(memberOf(part, "inlineData"));
  const mimeType = stringOf(memberOf(data, "mimeType"));
  if (!mimeType.startsWith("image/")) return undefined;
  return { type: "image", data: stringOf(data["data"]), mimeType };
}

/** The same, with a note for a kind without a counterpart. */
export function shownPart(part: Fields): TextPart | ImagePart {
  const shown = contentPart(part);
  if (shown) return shown;
  const file = recordOf(memberOf(part, "fileData"));
  const uri = stringOf(memberOf(file, "fileUri"));
  const data = recordOf(memberOf(part, "inlineData"));
  const what = stringOf(memberOf(file, "mimeType")) || stringOf(memberOf(data, "mimeType")) || "part";
  return { type: "text", text: uri === "" ? `[${what} left out]` : `[${what}: ${uri}]` };
}

/** Whether the part is an image, a video, or another file. */
export function isMedia(part: Fields): boolean {
  return isRecord(memberOf(part, "inlineData")) || isRecord(memberOf(part, "fileData"));
}

/** The text of an answer, without its thoughts. */
export function geminiAnswerText(parts: readonly Fields[]): string {
  return parts.map((part) => textOf(part) ?? "").join("");
}

/**
 * Content of an answer, from all its parts in order, with its calls. Text in several parts, as it streams, is one text, as clients store it: also
 * where a thought comes between, which they drop. Code that the provider ran itself has no counterpart.
 */
export function answerContent(
  parts: readonly Fields[],
  calls: readonly FunctionCall[],
): AssistantMessage["content"] {
  const content: AssistantMessage["content"] = [];
  let next = 0;
  for (const part of parts) {
    const text = stringOf(part["text"]);
    const call = callFields(part) ? calls[next++] : undefined;
    if (call) {
      const { id, name, args } = call;
      content.push({ type: "toolCall", id, name, arguments: args, ...signatureOf(part) });
    } else if (part["thought"] === true) addThought(content, text, signatureOf(part));
    else if (text !== "") addText(content, text);
  }
  return content;
}

function addThought(
  content: AssistantMessage["content"],
  thinking: string,
  signed: { signature?: string },
): void {
  const last = content.at(-1);
  if (last?.type !== "thinking" || last.signature !== undefined)
    content.push({ type: "thinking", thinking, ...signed });
  else Object.assign(last, { thinking: last.thinking + thinking, ...signed });
}

function addText(content: AssistantMessage["content"], text: string): void {
  const last = content.findLast(({ type }) => type !== "thinking");
  if (last?.type === "text") last.text += text;
  else content.push({ type: "text", text });
}

/** The members of a result in which clients put its text. */
const OUTPUTS = ["output", "result", "content"];

/** Text and images of a result; `media`: parts after it in the same content, where older models have a result's images. */
export function resultContent(
  result: Fields,
  media: readonly Fields[] = [],
): Pick<ToolResultMessage, "content" | "isError"> {
  const response = recordOf(result["response"]);
  const names = Object.keys(response);
  const [only = ""] = names;
  const isError = names.length === 1 && only === "error";
  const isText =
    names.length === 1 && typeof response[only] === "string" && (isError || OUTPUTS.includes(only));
  const text = isText ? stringOf(response[only]) : names.length === 0 ? "" : JSON.stringify(response);
  const parts = [...listOf(result["parts"]).map(recordOf), ...media].map(shownPart);
  return { content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...parts], isError };
}

/** Parts of a user's content. Omits empty texts, which the API rejects. */
export function contentParts(content: string | readonly (TextPart | ImagePart)[]): Part[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.flatMap((part): Part[] => {
    if (part.type === "image") return [{ inlineData: { mimeType: part.mimeType, data: part.data } }];
    return part.text === "" ? [] : [{ text: part.text }];
  });
}

/** `id` is undefined if the call in the request has none. */
export function callPart(id: string | undefined, name: string, args: object): Part {
  return { functionCall: { ...defined({ id }), name, args } };
}

/** The part of a result, and its images. `id` as for the call. */
export function resultParts(
  { content, isError }: ToolResultMessage,
  { id, name, takesImages }: { id: string | undefined; name: string; takesImages: boolean },
): Part[] {
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const images = contentParts(content.filter((part) => part.type === "image"));
  const result = { ...defined({ id }), name, response: { [isError ? "error" : "output"]: text } };
  if (images.length === 0) return [{ functionResponse: result }];
  return takesImages
    ? [{ functionResponse: { ...result, parts: images } }]
    : [{ functionResponse: result }, ...images];
}
