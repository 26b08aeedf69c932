/**
 * Taking a message apart: its JSON, and what it says, which is kept apart and once (`texts.ts`). Put together again
 * (`template.ts`) it is the same JSON byte for byte: what is not understood stays where it stands. Needs no database, so
 * a transcript is cut on one thread and written on another.
 */
import { hash } from "node:crypto";

/** Stands where something was cut out. JSON has no raw control characters; inside of its strings it is escaped. */
export const MARK = "\u0001";
const ESCAPED = String.raw`\u0001`;
/** Fields of a value that hold words or parts, and fields of a part that hold words or opaque data. */
export const VALUE_KEYS: readonly string[] = ["content", "summary", "errorMessage"];
export const PART_KEYS: readonly string[] = ["text", "thinking", "data", "signature"];
/** A longer text is kept in pieces, so that a snippet of it costs one piece. */
const PIECE = 48 * 1024;
/** Opaque strings (signatures, encrypted reasoning) from this length on are payloads. */
const OPAQUE = 512;
/** Names for places that are tried before a value that is full of them stays in one piece. */
const NAMES = 8;

/** `t`: a text, quoted when put back. `j`: JSON with its line breaks and tabs decoded. `o`: an opaque string. `b`: base64. */
export type Form = "t" | "j" | "o" | "b";

export interface TextPart {
  form: "t" | "j";
  text: string;
  /** 48 bits of its SHA-256: a number in JavaScript. */
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
  /** The JSON with the form of each part between two marks at its place; the pieces of one text follow each other. */
  json: string;
  parts: (TextPart | PayloadPart)[];
}

/** The hash that a text is found by. */
export function hashOf(text: string): number {
  return Number.parseInt(hash("sha256", text).slice(0, 12), 16);
}

function textPart(form: TextPart["form"], text: string): TextPart {
  return { form, text, hash: hashOf(text) };
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code < 0xe000;
}

/** A text in pieces that can be quoted one by one. */
function pieces(form: TextPart["form"], text: string): TextPart[] {
  if (text.length <= PIECE) return [textPart(form, text)];
  const parts: TextPart[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + PIECE);
    if (end < text.length) {
      const gap = text.lastIndexOf("\n", end);
      if (gap > at + PIECE / 2) end = gap + 1;
      if (isLowSurrogate(text.charCodeAt(end))) end -= 1;
    }
    parts.push(textPart(form, text.slice(at, end)));
    at = end;
  }
  return parts;
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r" };

/** Words behind an escaped line break would be indexed with its letter. */
export function decodeBreaks(json: string): string {
  if (!json.includes("\\")) return json;
  return json.replace(/\\(.)/gs, (escape, name: string) => ESCAPES[name] ?? escape);
}

function payloadPart(text: string, mime: string): PayloadPart {
  const decoded = Buffer.from(text, "base64");
  const isBase64 = decoded.toString("base64") === text;
  const bytes = isBase64 ? decoded : Buffer.from(text, "utf8");
  // A small buffer is a part of a larger one, which would go to the other thread as a whole.
  const data = new Uint8Array(bytes);
  return { form: isBase64 ? "b" : "o", data, mime, hash: hash("sha256", data) };
}

type Fields = Record<string, unknown>;

/** A copy made by its fields says the same JSON. */
function isPlain(value: object): value is Fields {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !("toJSON" in value);
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A copy of a value with names of places instead of what is cut out, and what that is. */
class Cutter {
  /** Of each place, in the order of the JSON. */
  readonly places: Cutting["parts"][] = [];
  readonly #name: string;
  /** Something in it writes its JSON itself. */
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
    if (isPlain(value)) return { ...value };
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
    // A lone surrogate does not survive UTF-8; such a text stays in the JSON, which escapes it.
    return text === "" || !text.isWellFormed() ? text : this.#place(pieces("t", text));
  }

  #json(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    const json: string | undefined = JSON.stringify(value);
    // Without a string in it there is nothing to find.
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

/** The JSON with parts instead of the names of places; undefined when it says one of the names somewhere else. */
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

/** Takes a value apart: its words, tool arguments, large opaque data. */
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
