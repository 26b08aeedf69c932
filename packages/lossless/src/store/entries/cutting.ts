/**
 * Splits a message into its JSON and its texts, which are stored separately and once (`texts.ts`). Joined again
 * (`template.ts`) they are the same JSON byte for byte; unknown parts stay in the JSON. Needs no database, so a
 * transcript is split on one thread and written on another.
 */
import { hash } from "node:crypto";
import { isRecord } from "@pagurus/core/data/record-fields";

/** Marks a place where a part was cut out. JSON has no raw control characters; inside strings they are escaped. */
export const MARK = "\u0001";
const ESCAPED = String.raw`\u0001`;
/** Fields of a value with text or parts, and fields of a part with text or opaque data. */
export const VALUE_KEYS: readonly string[] = ["content", "summary", "errorMessage"];
export const PART_KEYS: readonly string[] = ["text", "thinking", "data", "signature"];
/** Longer texts are stored in pieces, so that a snippet costs one piece. */
const PIECE = 48 * 1024;
/** Opaque strings (signatures, encrypted reasoning) from this length on are payloads. */
const OPAQUE = 512;
/** Placeholder names that are tried; a value that contains all of them is stored in one piece. */
const NAMES = 8;

/** `t`: a text, quoted when restored. `j`: JSON with its line breaks and tabs decoded. `o`: an opaque string. `b`: base64. */
export type Form = "t" | "j" | "o" | "b";

export interface TextPart {
  form: "t" | "j";
  text: string;
  /** First 48 bits of its SHA-256, which fit a JavaScript number. */
  hash: number;
}

export interface PayloadPart {
  form: "o" | "b";
  data: Uint8Array;
  mime: string;
  /** SHA-256, hex. */
  hash: string;
}

export interface Cutting {
  /** The JSON with each part replaced by its form between two marks; the pieces of one text are consecutive. */
  json: string;
  parts: (TextPart | PayloadPart)[];
}

/** Hash by which a text is looked up. */
export function hashOf(text: string): number {
  return Number.parseInt(hash("sha256", text).slice(0, 12), 16);
}

function hashedText(form: TextPart["form"], text: string): TextPart {
  return { form, text, hash: hashOf(text) };
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}

/** Splits a text into pieces that can be quoted separately. */
function pieces(form: TextPart["form"], text: string): TextPart[] {
  if (text.length <= PIECE) return [hashedText(form, text)];
  const parts: TextPart[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + PIECE);
    if (end < text.length) {
      const gap = text.lastIndexOf("\n", end);
      if (gap > at + PIECE / 2) end = gap + 1;
      if (isLowSurrogate(text.charCodeAt(end))) end -= 1;
    }
    parts.push(hashedText(form, text.slice(at, end)));
    at = end;
  }
  return parts;
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r" };

/** Decodes line breaks and tabs: a word after an escaped line break would be indexed with its letter. */
export function decodeBreaks(json: string): string {
  if (!json.includes("\\")) return json;
  return json.replace(/\\(.)/gs, (escape, name: string) => ESCAPES[name] ?? escape);
}

function payloadPart(text: string, mime: string): PayloadPart {
  const decoded = Buffer.from(text, "base64");
  const isBase64 = decoded.toString("base64") === text;
  const bytes = isBase64 ? decoded : Buffer.from(text, "utf8");
  // A small buffer is part of a pooled one, which would be sent to the other thread as a whole.
  const data = new Uint8Array(bytes);
  return { form: isBase64 ? "b" : "o", data, mime, hash: hash("sha256", data) };
}

type Fields = Record<string, unknown>;

/** True when a copy of the fields gives the same JSON. */
function isPlainObject(value: object): value is Fields {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !("toJSON" in value);
}

/** Copies a value with placeholder names instead of the parts that are cut out, and collects these parts. */
class Cutter {
  /** Parts of each place, in the order of the JSON. */
  readonly places: Cutting["parts"][] = [];
  readonly #name: string;
  /** True when some object in it has its own `toJSON` or prototype. */
  isSpecial = false;

  constructor(name: string) {
    this.#name = name;
  }

  value(value: object): Fields | undefined {
    const copy = this.#copy(value);
    if (!copy) return undefined;
    // In the order of the value's own keys, which is the order of the JSON.
    for (const key of Object.keys(copy)) {
      if (!VALUE_KEYS.includes(key)) continue;
      const field = copy[key];
      if (typeof field === "string") copy[key] = this.#text(field);
      else if (Array.isArray(field))
        copy[key] = field.map((part: unknown) => (isRecord(part) ? this.#part(part) : part));
    }
    return copy;
  }

  #copy(value: object): Fields | undefined {
    if (isPlainObject(value)) return { ...value };
    this.isSpecial = true;
    return undefined;
  }

  #part(part: Fields): Fields | undefined {
    const copy = this.#copy(part);
    if (!copy) return undefined;
    for (const key of Object.keys(copy)) {
      const field = copy[key];
      if (key === "arguments") copy[key] = this.#json(field);
      else if (typeof field !== "string") continue;
      else if (key === "text" || key === "thinking") copy[key] = this.#text(field);
      else if (key === "data") copy[key] = this.#opaque(field, mimeOf(part));
      else if (key === "signature") copy[key] = this.#opaque(field, "application/octet-stream");
    }
    return copy;
  }

  #place(parts: Cutting["parts"]): string {
    return `${MARK}${this.#name}${this.places.push(parts) - 1}${MARK}`;
  }

  #text(text: string): string {
    // UTF-8 cannot store a lone surrogate; such a text stays in the JSON, which escapes it.
    return text === "" || !text.isWellFormed() ? text : this.#place(pieces("t", text));
  }

  #json(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    const json: string | undefined = JSON.stringify(value);
    // Without a string there is nothing to cut.
    return json?.includes('"') ? this.#place(pieces("j", decodeBreaks(json))) : value;
  }

  #opaque(text: string, mime: string): string {
    return text.length < OPAQUE || !text.isWellFormed() ? text : this.#place([payloadPart(text, mime)]);
  }
}

function mimeOf(part: Fields): string {
  const mime = part["mimeType"];
  return typeof mime === "string" ? mime : "application/octet-stream";
}

/** Replaces the placeholder names with parts; undefined when the JSON contains a name elsewhere. */
function withParts(json: string, name: string, places: readonly Cutting["parts"][]): Cutting | undefined {
  const pieces = json.split(`"${ESCAPED}${name}`);
  if (pieces.length !== places.length + 1) return undefined;
  const cutting: Cutting = { json: pieces[0] ?? "", parts: [] };
  for (let place = 0; place < places.length; place++) {
    const piece = pieces[place + 1] ?? "";
    const end = `${place}${ESCAPED}"`;
    if (!piece.startsWith(end)) return undefined;
    for (const part of places[place] ?? []) {
      cutting.json += MARK + part.form + MARK;
      cutting.parts.push(part);
    }
    cutting.json += piece.slice(end.length);
  }
  return cutting;
}

/** Cuts the texts, tool arguments and large opaque data out of a value. */
export function cut(value: object): Cutting {
  let plain = value;
  for (let index = 0; index < NAMES; index++) {
    const name = `${index}.`;
    const cutter = new Cutter(name);
    const copy = cutter.value(plain);
    if (cutter.isSpecial) {
      const json: unknown = JSON.parse(JSON.stringify(value));
      if (!isRecord(json)) break;
      plain = json;
      continue;
    }
    const cutting = withParts(JSON.stringify(copy), name, cutter.places);
    if (cutting) return cutting;
  }
  return { json: JSON.stringify(value), parts: [] };
}
