/** Converts a server's answer to a call into text and images for a model, within limits. */
import type { ImagePart, TextPart } from "../../contract/message.ts";
import type { ToolOutcome } from "../../contract/harness/tool.ts";

/** A part of a `tools/call` result; which fields are present depends on its type. */
export interface ContentItem {
  type: string;
  text?: string | undefined;
  data?: string | undefined;
  mimeType?: string | undefined;
  uri?: string | undefined;
  name?: string | undefined;
  description?: string | undefined;
  resource?:
    | {
        uri: string;
        mimeType?: string | undefined;
        text?: string | undefined;
        blob?: string | undefined;
      }
    | undefined;
}

export interface CallAnswer {
  content?: readonly ContentItem[] | undefined;
  structuredContent?: unknown;
  isError?: boolean | undefined;
}

/** Characters of text kept of one result; the configured limit is applied later, when it is sent. */
const MOST_CHARACTERS = 100_000;
const MOST_IMAGES = 10;
/** Text parts beyond this number are joined into one. */
const MOST_TEXTS = 100;
/** Limit of one image, bytes; the same as for images that a user attaches. */
const MOST_IMAGE_BYTES = 5 * 1024 * 1024;
/** Limit of all images of one result; a provider accepts about 30 MB in a whole request. */
const IMAGES_BYTES = 10 * 1024 * 1024;
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
  if (mimeType === undefined || base64Bytes(data) > MOST_IMAGE_BYTES || !BASE64.test(data)) return undefined;
  return { type: "image", data, mimeType };
}

function leftOut(what: string, mimeType: string | undefined, data: string): TextPart {
  return {
    type: "text",
    text: `[${what} of ${base64Bytes(data)} bytes (${mimeType ?? "unknown type"}) left out: it cannot be shown to the model]`,
  };
}

function resourceText(uri: string, mimeType: string | undefined, text: string): TextPart {
  const type = mimeType === undefined ? "" : ` type="${mimeType}"`;
  return { type: "text", text: `<resource uri="${uri}"${type}>\n${text}\n</resource>` };
}

function partOf(item: ContentItem): TextPart | ImagePart {
  const { type, mimeType, data, resource } = item;
  if (type === "text") return { type, text: item.text ?? "" };
  if (type === "image") return imagePart(data ?? "") ?? leftOut("image", mimeType, data ?? "");
  if (type === "audio") return leftOut("sound", mimeType, data ?? "");
  if (type === "resource_link") {
    const about = [item.name, item.description].filter((word) => word !== undefined && word !== "");
    return { type: "text", text: `[resource ${item.uri ?? ""}: ${about.join(", ")}]` };
  }
  if (resource) {
    if (resource.text !== undefined) return resourceText(resource.uri, resource.mimeType, resource.text);
    const blob = resource.blob ?? "";
    return imagePart(blob) ?? leftOut(`resource ${resource.uri}`, resource.mimeType, blob);
  }
  return { type: "text", text: `[a part of the type "${type.slice(0, 40)}" left out]` };
}

/** Structured content that is not among the text parts already; servers are asked to repeat it there. */
function structuredPart({ structuredContent, content = [] }: CallAnswer): TextPart[] {
  if (structuredContent === undefined || structuredContent === null) return [];
  const has = content.some(({ type, text }) => type === "text" && text !== undefined && text.trim() !== "");
  return has ? [] : [{ type: "text", text: JSON.stringify(structuredContent, undefined, 2) }];
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
    return leftOut("further image", part.mimeType, part.data);
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
  const parts = [...(answer.content ?? []).map(partOf), ...structuredPart(answer)].map((part) =>
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
