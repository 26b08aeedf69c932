/** Converts a server's answer to a call into text and images for a model, within limits. */
import { isDeepStrictEqual } from "node:util";
import type { ImagePart, TextPart } from "@pagurus/contract/message";
import type { ToolOutcome } from "@pagurus/contract/harness/tool";
import { attempt } from "@pagurus/core/data/attempt";
import { plainLine } from "@pagurus/core/data/plain-text";
import { asString, filledString, isRecord } from "@pagurus/core/data/record-fields";

/** Answer to a `tools/call` as the server sent it: no field was checked. */
export interface CallAnswer {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
}

/** Characters of text kept of one result; the configured limit is applied later, when it is sent. */
const MOST_CHARACTERS = 100_000;
const MOST_IMAGES = 10;
/** Text parts beyond this number are joined into one. */
const MOST_TEXTS = 100;
/** Limit of one image, bytes; the same as for images that a user attaches. */
const MOST_RESULT_IMAGE_BYTES = 5 * 1024 * 1024;
/** Limit of all images of one result; a provider accepts about 30 MB in a whole request. */
const IMAGES_BYTES = 10 * 1024 * 1024;
/** Limit of a name, description or address of a resource. */
const MOST_TITLE_CHARACTERS = 1_000;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** First bytes of the image formats that models accept. */
const IMAGE_STARTS: readonly (readonly [RegExp, string])[] = [
  // oxlint-disable-next-line no-control-regex -- a file's signature
  [/^\x89PNG\r\n\x1a\n/, "image/png"],
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^GIF8[79]a/, "image/gif"],
  [/^RIFF[^]{4}WEBP/, "image/webp"],
];

function base64Bytes(data: string): number {
  return Math.floor((data.length * 3) / 4);
}

/** Detects the format by the first bytes, since a provider rejects the whole request for an invalid image. */
function imagePart(data: string): ImagePart | undefined {
  const start = Buffer.from(data.slice(0, 16), "base64").toString("latin1");
  const mimeType = IMAGE_STARTS.find(([signature]) => signature.test(start))?.[1];
  if (mimeType === undefined || base64Bytes(data) > MOST_RESULT_IMAGE_BYTES || !BASE64.test(data))
    return undefined;
  return { type: "image", data, mimeType };
}

function leftOutText(what: string, mimeType: string | undefined, data: string): TextPart {
  return {
    type: "text",
    text: `[${what} of ${base64Bytes(data)} bytes (${mimeType ?? "unknown type"}) left out: it cannot be shown to the model]`,
  };
}

/** A server's name or address of something, on one line inside our words. */
function title(text: unknown): string {
  return plainLine(asString(text) ?? "", MOST_TITLE_CHARACTERS).replaceAll(/["<>]/g, "'");
}

function resourceText(uri: string, mimeType: string | undefined, text: string): TextPart {
  const type = mimeType === undefined ? "" : ` type="${mimeType}"`;
  return { type: "text", text: `<resource uri="${uri}"${type}>\n${text}\n</resource>` };
}

function resourcePart(resource: unknown): TextPart | ImagePart {
  if (!isRecord(resource)) return notice("a resource without content left out");
  const [uri, mimeType] = [title(resource["uri"]), filledString(title(resource["mimeType"]))];
  const { text, blob } = resource;
  if (typeof text === "string") return resourceText(uri, mimeType, text);
  if (typeof blob !== "string") return notice(`the resource ${uri} without content left out`);
  return imagePart(blob) ?? leftOutText(`resource ${uri}`, mimeType, blob);
}

function notice(what: string): TextPart {
  return { type: "text", text: `[${what}]` };
}

/** One part of the content; a bad one becomes a sentence that names its kind, so that the others are kept. */
function resultPart(item: unknown): TextPart | ImagePart {
  if (typeof item === "string") return { type: "text", text: item };
  if (!isRecord(item)) return notice("a part that is no object left out");
  const { type, text } = item;
  const mimeType = filledString(title(item["mimeType"]));
  const data = asString(item["data"]) ?? "";
  if (type === "text")
    return typeof text === "string" ? { type, text } : notice("a text part without text left out");
  if (type === "image") return imagePart(data) ?? leftOutText("image", mimeType, data);
  if (type === "audio") return leftOutText("sound", mimeType, data);
  if (type === "resource_link") {
    const about = [title(item["name"]), title(item["description"])].filter((word) => word !== "");
    return notice(`resource ${title(item["uri"])}: ${about.join(", ")}`);
  }
  if (type === "resource") return resourcePart(item["resource"]);
  if (typeof type !== "string") return notice("a part without a type left out");
  return notice(`a part of the type "${plainLine(type, 40)}" left out`);
}

/** Parts of the content; a single part or a text in place of the list counts as a list of one. */
function partsOf(content: unknown): (TextPart | ImagePart)[] {
  if (content === undefined || content === null) return [];
  return (Array.isArray(content) ? (content as unknown[]) : [content]).map(resultPart);
}

/** The JSON value of a text, or the text itself. */
function valueOf(text: string): unknown {
  return attempt((): unknown => JSON.parse(text)) ?? text;
}

/**
 * Structured content that is not among the text parts already. Servers are asked to repeat it there; some libraries wrap the
 * value of the texts: `{"result": "hello"}` beside the text "hello".
 */
function structuredPart(structured: unknown, parts: readonly (TextPart | ImagePart)[]): TextPart[] {
  if (structured === undefined || structured === null) return [];
  const texts = parts.flatMap((part) => (part.type === "text" && part.text.trim() !== "" ? [part.text] : []));
  const wrapped =
    isRecord(structured) && Object.keys(structured).length === 1 ? structured["result"] : undefined;
  const values = [...texts.map(valueOf), texts.map(valueOf), texts, ...texts];
  const forms = [structured, ...(wrapped === undefined ? [] : [wrapped])];
  // Throws for what is nested too deeply.
  const isRepeated = attempt(() =>
    forms.some((form) => texts.length > 0 && values.some((value) => isDeepStrictEqual(value, form))),
  );
  if (isRepeated === true) return [];
  const text = attempt(() => JSON.stringify(structured, undefined, 2));
  return [
    text === undefined
      ? notice("structured content that is nested too deeply left out")
      : { type: "text", text },
  ];
}

/** Head and tail of a text; a mark shows how many characters were left out. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  // Half a surrogate pair at a cut would not survive UTF-8.
  const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const tail = text.slice(text.length - half).replace(/^[\uDC00-\uDFFF]/, "");
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`;
}

/** At most `MOST_CHARACTERS` of text, shared by the text parts; one part when there are too many. */
function bounded(parts: (TextPart | ImagePart)[]): { content: ToolOutcome["content"]; cut: boolean } {
  let [images, bytes] = [0, 0];
  const kept = parts.map((part): TextPart | ImagePart => {
    if (part.type === "text") return part;
    bytes += base64Bytes(part.data);
    if (++images <= MOST_IMAGES && bytes <= IMAGES_BYTES) return part;
    return leftOutText("further image", part.mimeType, part.data);
  });
  const characters = kept.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
  const texts = kept.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (characters <= MOST_CHARACTERS && texts.length <= MOST_TEXTS) return { content: kept, cut: false };
  const joined = texts.filter((text) => text !== "").join("\n");
  const text: TextPart = { type: "text", text: cut(joined, MOST_CHARACTERS) };
  const content = [text, ...kept.filter((part) => part.type === "image")];
  return { content, cut: joined.length > MOST_CHARACTERS };
}

export function outcomeOf(answer: CallAnswer): ToolOutcome {
  const read = partsOf(answer.content);
  const parts = [...read, ...structuredPart(answer.structuredContent, read)].map((part) =>
    // Half a surrogate pair would make the provider reject the whole next request.
    part.type === "text" ? { ...part, text: part.text.toWellFormed() } : part,
  );
  const { content, cut: wasCut } = bounded(
    parts.length > 0 ? parts : [{ type: "text", text: "(no output)" }],
  );
  return {
    content,
    isError: answer.isError === true,
    ...(wasCut ? { details: { cut: true } } : {}),
  };
}
