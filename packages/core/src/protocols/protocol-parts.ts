/** What several protocols write in the same way: tool names, arguments of calls, images in URLs. */
import type { ImagePart } from "@pagurus/contract/message";
import { attempt } from "../data/attempt.ts";
import { isRecord, parseJson, parseRecord } from "../data/record-fields.ts";
import { wellFormedParsed } from "../data/well-formed.ts";

/** A tool name with only characters that every provider accepts. */
export function toolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 128);
}

export interface ReadArguments {
  arguments: Record<string, unknown>;
  /** Text that is no JSON object, as it came; `arguments` is then empty. */
  unparsed?: string;
}

/** Encodings of an object inside a JSON string that are undone. */
const MOST_ENCODINGS = 2;

/** The object in a text: also one that was encoded twice, follows an empty object, or is there twice. */
function objectIn(text: string): Record<string, unknown> | undefined {
  let value = parseJson(text);
  for (let depth = 0; typeof value === "string" && depth < MOST_ENCODINGS; depth++)
    value = value.trim() === "" ? {} : parseJson(value);
  if (value === null) return {};
  if (isRecord(value)) return value;
  if (value !== undefined) return undefined;
  const trimmed = text.trim();
  const half = trimmed.slice(0, trimmed.length / 2);
  if (half !== "" && half + half === trimmed) return parseRecord(half);
  return trimmed.startsWith("{}") ? parseRecord(trimmed.slice(2)) : undefined;
}

/** Reads the arguments of a call: an object, its JSON, or nothing. */
export function readArguments(value: unknown): ReadArguments {
  if (value === undefined || value === null) return { arguments: {} };
  if (typeof value !== "string") {
    const json = attempt(() => JSON.stringify(value)) ?? "";
    if (isRecord(value)) return { arguments: { ...wellFormedParsed(value, json) } };
    return { arguments: {}, unparsed: json };
  }
  if (value.trim() === "") return { arguments: {} };
  const found = objectIn(value);
  return found
    ? { arguments: wellFormedParsed(found, value) }
    : { arguments: {}, unparsed: value.toWellFormed() };
}

/** A value that is no object, nor the JSON of one, becomes the value of `input`. */
export function argumentsOf(value: unknown): Record<string, unknown> {
  const { arguments: args, unparsed } = readArguments(value);
  if (unparsed === undefined) return args;
  return { input: typeof value === "string" ? unparsed : value };
}

/** An image in a `data:` URL; undefined for any other. */
export function dataUrlImage(url: string): ImagePart | undefined {
  const comma = url.indexOf(",");
  const head = url.slice("data:".length, comma);
  if (!url.startsWith("data:") || comma < 0 || !head.endsWith(";base64")) return undefined;
  const mimeType = head.slice(0, -";base64".length).split(";")[0] || "image/png";
  return { type: "image", data: url.slice(comma + 1), mimeType };
}

/** The image as a `data:` URL. */
export function imageDataUrl({ mimeType, data }: ImagePart): string {
  return `data:${mimeType};base64,${data}`;
}
