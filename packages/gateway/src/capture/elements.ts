/**
 * Elements of a captured body, for display, in the order in which a provider reads them (tools, rules, messages), which is also the
 * order of its cache, whatever their order in the JSON text.
 */
import { defined } from "@pagurus/core/data/defined";
import { createHash } from "node:crypto";
import { isRecord } from "@pagurus/core/data/record-fields";
import type { Dialect, RequestKind, WireApi, WireHeaders } from "../dialect/wire-dialect.ts";
import { arrayElements, objectMembers, parsePart, wholeValue, type Span } from "../json/scan.ts";
import { roleOf, wordsOf } from "./capture-words.ts";

export interface BodyElement {
  /** Place in the body: `tools`, `system[0]`, `input[12]`. */
  at: string;
  role: string;
  bytes: number;
  /** Hash of the element's bytes. */
  hash: string;
  /** Hash of the content without cache marks, which a provider's cache ignores. */
  saysHash: string;
  /** Part of the fixed prefix, or a setting (surroundings). */
  isFixed: boolean;
  span: Span;
  /** The content on one line, cut to the requested width. */
  words: string;
}

export interface BodyView {
  model?: string;
  kind?: RequestKind;
  elements: BodyElement[];
  /** Why there are no elements, or why less is known about them. */
  note?: string;
}

interface Shape {
  /** Members before the list, in a provider's order. */
  before: readonly string[];
  list: string;
}

const SHAPES: Readonly<Record<WireApi, Shape>> = {
  "openai-responses": { before: ["tools", "instructions"], list: "input" },
  "anthropic-messages": { before: ["tools", "system"], list: "messages" },
  "openai-completions": { before: ["tools"], list: "messages" },
  "google-generative-ai": { before: ["tools", "systemInstruction"], list: "contents" },
};

export interface BodyQuestion {
  api: WireApi;
  path: string;
  headers: WireHeaders;
  body: Buffer;
  dialect: Dialect | undefined;
  /** Characters of text shown for each element. */
  width: number;
}

/** Never throws: what cannot be read is reported in `note`. */
export function viewBody(question: BodyQuestion): BodyView {
  try {
    return readView(question);
  } catch {
    return { elements: [], note: "the body is no JSON object of its protocol, or was cut" };
  }
}

function readView(question: BodyQuestion): BodyView {
  const { api, body, width } = question;
  const { before, list } = SHAPES[api];
  const members = objectMembers(body, wholeValue(body));
  const elements: BodyElement[] = [];
  const add = (at: string, span: Span, isFixed: boolean): void => {
    elements.push(element(body, { at, span, isFixed, width }));
  };
  for (const name of before) {
    const span = members.get(name);
    if (!span || isEmpty(body, span)) continue;
    const parts = name === "system" && body[span.start] === 0x5b ? arrayElements(body, span) : undefined;
    if (parts) for (const [index, part] of parts.entries()) add(`${name}[${index}]`, part, true);
    else add(name, span, true);
  }
  const read = askDialect(question);
  const span = members.get(list);
  // A string in place of the list is no element for the dialect.
  const items = read && read.items.length > 0 ? read.items : itemsOf(body, span);
  for (const [index, item] of items.entries()) add(`${list}[${index}]`, item, isFixedItem(read, index));
  const model = members.get("model");
  // Google's requests name it in their path.
  const named = model ? parsePart(body, model) : read?.model || undefined;
  return {
    elements,
    ...(typeof named === "string" ? { model: named } : {}),
    ...defined({ kind: read?.kind }),
  };
}

function isEmpty(body: Buffer, span: Span): boolean {
  return /^(?:null|""|\[\s*\])$/.test(
    body.toString("latin1", span.start, Math.min(span.end, span.start + 8)),
  );
}

function itemsOf(body: Buffer, span: Span | undefined): Span[] {
  if (!span) return [];
  return body[span.start] === 0x5b ? arrayElements(body, span) : [span];
}

type Read = ReturnType<Dialect["read"]>;

function isFixedItem(read: Read | undefined, index: number): boolean {
  return read !== undefined && (index < read.prefixCount || read.items[index]?.kind === "setting");
}

/** Undefined if the dialect does not understand the request, which was passed unchanged then; it is read as plain JSON. */
function askDialect({ dialect, path, headers, body }: BodyQuestion): Read | undefined {
  try {
    return dialect?.read(path, headers, body);
  } catch {
    return undefined;
  }
}

function element(
  body: Buffer,
  { at, span, isFixed, width }: { at: string; span: Span; isFixed: boolean; width: number },
): BodyElement {
  const bytes = body.subarray(span.start, span.end);
  const hash = sha256(bytes);
  const value: unknown = parsePart(body, span);
  const hasMark = bytes.includes('"cache_control"');
  return {
    at,
    role: at.startsWith("tools") ? "tools" : (roleOf(value) ?? at.replace(/\[\d+\]$/, "")),
    bytes: bytes.length,
    hash,
    saysHash: hasMark || isPlainMessage(value) ? sha256(JSON.stringify(withoutMarks(value))) : hash,
    isFixed,
    span,
    words: wordsOf(value, width),
  };
}

function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex").slice(0, 16);
}

/** When such a message (plain text, Anthropic) is marked, its text becomes a block. */
function isPlainMessage(value: unknown): boolean {
  return isRecord(value) && typeof value["content"] === "string" && typeof value["role"] === "string";
}

function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutOwnMark);
  if (!isRecord(value)) return value;
  const { cache_control: _mark, ...rest } = value;
  const content = rest["content"];
  if (typeof content === "string") return { ...rest, content: [{ type: "text", text: content }] };
  return Array.isArray(content) ? { ...rest, content: content.map(withoutOwnMark) } : rest;
}

function withoutOwnMark(block: unknown): unknown {
  if (!isRecord(block)) return block;
  const { cache_control: _mark, ...rest } = block;
  return rest;
}
