/** What several protocols write in the same way: tool names, arguments of calls, images in URLs. */
import type { ImagePart } from "../contract/message.ts";
import { isRecord, parseRecord } from "../data/record-fields.ts";

/** A tool name with only characters that every provider accepts. */
export function toolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 128);
}

/** A value that is no object, nor the JSON of one, becomes the value of `input`. */
export function argumentsOf(value: unknown): Record<string, unknown> {
  if (isRecord(value)) return { ...value };
  if (value === undefined || value === null || value === "") return {};
  return { ...((typeof value === "string" && parseRecord(value)) || { input: value }) };
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
