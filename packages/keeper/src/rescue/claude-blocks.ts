/** Blocks of messages that the Messages API refuses, and what is put in their place: rows of the table in rescue-claude-code.ts. */
import { hash } from "node:crypto";
import { asString, isRecord, listOf, recordOf, type Fields } from "@pagurus/core/data/record-fields";
import { longerSide, typeOfData } from "./image-data.ts";
import {
  megabytes,
  MOST_TEXT,
  shortText,
  tooLong,
  toolName,
  type Repair,
  type SourceLine,
} from "./rescued.ts";

/** Limits of the Messages API: bytes and pixels of an image, images of a request. */
const MOST_IMAGE = 5 * 1024 * 1024;
const MOST_DOCUMENT = 32 * 1024 * 1024;
const MOST_SIDE = 8_000;
const MOST_IMAGES = 100;
const ID = /^[a-zA-Z0-9_-]+$/;

/** The blocks that take the place of one, and what was wrong with it; undefined for one that is right. */
type BlockRule = (block: Fields, role: string) => { text: string; instead: unknown[] } | undefined;

export function textBlock(text: string): Fields {
  return { type: "text", text };
}

export function messageOf({ value }: SourceLine): Fields | undefined {
  return isRecord(value["message"]) ? value["message"] : undefined;
}

export function blocksOf(line: SourceLine): Fields[] {
  return listOf(messageOf(line)?.["content"]).filter(isRecord);
}

/** The line with other blocks. */
export function withContent({ number, value }: SourceLine, content: unknown[]): SourceLine {
  return { number, value: { ...value, message: { ...recordOf(value["message"]), content } } };
}

/** A row that looks at each block, also at those in a result. */
function eachBlock(kind: string, rule: BlockRule): Repair {
  return {
    kind,
    apply: (lines, report) =>
      lines.map((line) => {
        const content = messageOf(line)?.["content"];
        if (!Array.isArray(content)) return line;
        let isChanged = false;
        const role = asString(messageOf(line)?.["role"]) ?? "user";
        const repaired = (block: unknown): unknown[] => {
          if (!isRecord(block)) return [block];
          const found = rule(block, role);
          if (found) {
            report(line.number, found.text);
            isChanged = true;
            return found.instead;
          }
          const inner = block["content"];
          if (block["type"] !== "tool_result" || !Array.isArray(inner)) return [block];
          return [{ ...block, content: (inner as unknown[]).flatMap(repaired) }];
        };
        const blocks = (content as unknown[]).flatMap(repaired);
        return isChanged ? withContent(line, blocks) : line;
      }),
  };
}

function dataOf(block: Fields): { data: string; media: string; source: Fields } | undefined {
  if (block["type"] !== "image" && block["type"] !== "document") return undefined;
  const source = recordOf(block["source"]);
  if (source["type"] !== "base64") return undefined;
  const media = asString(source["media_type"]) ?? "image";
  return { data: asString(source["data"]) ?? "", media, source };
}

function sizeOf(data: string): number {
  return Math.floor((data.length * 3) / 4);
}

function leftOut(media: string, why: string): unknown[] {
  return [textBlock(`[An image (${media}) was left out: ${why}.]`)];
}

const TYPES: Readonly<Record<string, ReadonlySet<string>>> = {
  user: new Set([
    "text",
    "image",
    "document",
    "tool_result",
    "search_result",
    "container_upload",
    "tool_reference",
  ]),
  assistant: new Set([
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "compaction",
  ]),
};
/** Results of tools that the provider runs are in the answer. */
const RESULTS = /_tool_result$/;

export const BLOCK_REPAIRS: readonly Repair[] = [
  eachBlock("large image", (block) => {
    const found = dataOf(block);
    if (!found) return undefined;
    const size = sizeOf(found.data);
    if (size <= (block["type"] === "image" ? MOST_IMAGE : MOST_DOCUMENT)) return undefined;
    return {
      text: `An image of ${megabytes(size)} is larger than the provider takes; a text names it.`,
      instead: [textBlock(`[An image (${found.media}, ${megabytes(size)}) was left out: it is too large.]`)],
    };
  }),
  eachBlock("unreadable image", (block) => {
    const found = dataOf(block);
    if (!found || typeOfData(found.data) !== undefined || found.media === "text/plain") return undefined;
    return {
      text: "An image has no data that the provider can read; a text names it.",
      instead: leftOut(found.media, "its data cannot be read"),
    };
  }),
  eachBlock("wrong type of image", (block) => {
    const found = dataOf(block);
    const type = found && typeOfData(found.data);
    if (!found || type === undefined || type === found.media) return undefined;
    return {
      text: `An image is named ${found.media} and is ${type}; its name is corrected.`,
      instead: [
        {
          ...block,
          type: type === "application/pdf" ? "document" : "image",
          source: { ...found.source, media_type: type },
        },
      ],
    };
  }),
  eachBlock("image of many pixels", (block) => {
    const found = dataOf(block);
    const side = found ? longerSide(found.data) : 0;
    if (!found || side <= MOST_SIDE) return undefined;
    return {
      text: `An image has ${side} pixels on a side, more than the provider takes; a text names it.`,
      instead: leftOut(found.media, `a side has ${side} pixels`),
    };
  }),
  tooManyImages(),
  eachBlock("thinking without signature", (block) =>
    block["type"] === "thinking" && !asString(block["signature"])
      ? {
          text: "A thinking block has no signature, which the provider refuses; it is left out.",
          instead: [],
        }
      : undefined,
  ),
  eachBlock("redacted thinking without data", (block) =>
    block["type"] === "redacted_thinking" && !asString(block["data"])
      ? {
          text: "A redacted thinking block has no data, which the provider refuses; it is left out.",
          instead: [],
        }
      : undefined,
  ),
  eachBlock("empty text", (block) =>
    block["type"] === "text" && !asString(block["text"])?.trim()
      ? { text: "A text is empty, which the provider refuses; it is left out.", instead: [] }
      : undefined,
  ),
  eachBlock("long text", (block) => {
    const { text, content } = block as Record<string, unknown>;
    const isResult = block["type"] === "tool_result";
    const whole = isResult ? content : text;
    if (typeof whole !== "string" || whole.length <= MOST_TEXT) return undefined;
    return {
      text: tooLong(whole),
      instead: [{ ...block, [isResult ? "content" : "text"]: shortText(whole, MOST_TEXT) }],
    };
  }),
  eachBlock("marks for the cache", (block) => {
    if (!("cache_control" in block)) return undefined;
    const { cache_control: _mark, ...rest } = block as Record<string, unknown>;
    return {
      text: "A block has a mark for the cache, of which a request may have few; it has none now.",
      instead: [rest],
    };
  }),
  eachBlock("block of a wrong kind", (block, role) => {
    const type = asString(block["type"]) ?? "";
    if (TYPES[role]?.has(type) === true || (role === "assistant" && RESULTS.test(type))) return undefined;
    return {
      text: `A block of the kind ${JSON.stringify(type)} is refused in a message of the ${role}; it is a text.`,
      instead: [
        textBlock(`[${type === "" ? "A block" : type}: ${JSON.stringify({ ...block, type: undefined })}]`),
      ],
    };
  }),
  eachBlock("name of a tool", (block) => {
    const renamed = toolName(asString(block["name"]) ?? "");
    if (block["type"] !== "tool_use" || !renamed) return undefined;
    return { text: renamed.text, instead: [{ ...block, name: renamed.name }] };
  }),
  eachBlock("arguments of a call", (block) =>
    block["type"] === "tool_use" && !isRecord(block["input"])
      ? {
          text: "The arguments of a call are no object, which the provider refuses; they are the value of one.",
          instead: [
            {
              ...block,
              input: block["input"] === undefined || block["input"] === null ? {} : { value: block["input"] },
            },
          ],
        }
      : undefined,
  ),
  eachBlock("id of a call", (block) => {
    const key = block["type"] === "tool_use" ? "id" : block["type"] === "tool_result" ? "tool_use_id" : "";
    const id = asString(block[key]) ?? "";
    if (key === "" || ID.test(id)) return undefined;
    return {
      text: `The id ${JSON.stringify(id.slice(0, 60))} of a call is refused; the call and its result have another one.`,
      instead: [{ ...block, [key]: `toolu_${hash("sha1", id, "hex").slice(0, 24)}` }],
    };
  }),
  eachBlock("failed result with an image", (block) => {
    const content = listOf(block["content"]);
    if (block["type"] !== "tool_result" || block["is_error"] !== true) return undefined;
    if (content.every((each) => recordOf(each)["type"] === "text")) return undefined;
    const { is_error: _failed, ...rest } = block as Record<string, unknown>;
    return {
      text: "A result that failed has more than text, which the provider refuses; a text says that it failed.",
      instead: [{ ...rest, content: [textBlock("[The call failed.]"), ...content] }],
    };
  }),
];

/** The newest images stay. */
function tooManyImages(): Repair {
  const isImage = (block: Fields): boolean => block["type"] === "image" || block["type"] === "document";
  return {
    kind: "many images",
    apply: (lines, report) => {
      const count = lines
        .flatMap(blocksOf)
        .flatMap((block) => [block, ...listOf(block["content"]).filter(isRecord)])
        .filter(isImage).length;
      let over = count - MOST_IMAGES;
      if (over <= 0) return lines;
      report(
        undefined,
        `It has ${count} images, and a request may have ${MOST_IMAGES}; texts are in place of the oldest.`,
      );
      const without = eachBlock("", (block) => {
        if (!isImage(block) || over <= 0) return undefined;
        over -= 1;
        return { text: "", instead: [textBlock("[An image was left out: there are too many.]")] };
      });
      return without.apply(lines, () => undefined);
    },
  };
}
