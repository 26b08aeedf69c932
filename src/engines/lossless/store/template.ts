/**
 * How an entry is kept: its JSON, in which what it says is replaced by references. Only bytes that stand in the JSON
 * are cut out, so putting them back gives the same bytes whatever the value was. A reference is
 * `\x01<form><number>\x01`; JSON has no raw control characters, so it cannot be mistaken.
 */
const MARK = "\u0001";
/** A longer text is kept in pieces, so that a snippet of it costs one piece. */
const PIECE = 48 * 1024;
/** Opaque strings (signatures, encrypted reasoning) from this length on are payloads. */
const OPAQUE = 512;

/** `t`: a text, quoted when put back. `j`: JSON with its line breaks and tabs decoded. `o`: an opaque string. `b`: base64. */
type Form = "t" | "j" | "o" | "b";

/** Takes what is cut out and gives the number under which it is found again. */
export interface Keeper {
  text(text: string): number;
  payload(data: Uint8Array, mime: string): number;
}

export interface Source {
  text(num: number): string;
  payload(num: number): Uint8Array;
}

interface Cut {
  /** The bytes as they stand in the JSON, behind a colon. */
  json: string;
  reference(keeper: Keeper): string;
}

function mark(form: Form, num: number): string {
  return `${MARK}${form}${num}${MARK}`;
}

/** A text in pieces that can be quoted one by one. */
function pieces(text: string): string[] {
  if (text.length <= PIECE) return [text];
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + PIECE);
    if (end < text.length) {
      const gap = text.lastIndexOf("\n", end);
      if (gap > at + PIECE / 2) end = gap + 1;
      const last = text.charCodeAt(end - 1);
      if (last >= 0xd800 && last < 0xdc00) end -= 1;
    }
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

function textCut(text: string): Cut | undefined {
  // A lone surrogate does not survive UTF-8; such a text stays in the JSON, which escapes it.
  if (text === "" || !text.isWellFormed()) return undefined;
  return {
    json: JSON.stringify(text),
    reference: (keeper) =>
      pieces(text)
        .map((piece) => mark("t", keeper.text(piece)))
        .join(""),
  };
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r" };
const DECODED: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

/** Words behind an escaped line break would be indexed with its letter. */
function decodeBreaks(json: string): string {
  if (!json.includes("\\")) return json;
  return json.replace(/\\(.)/gs, (escape, name: string) => ESCAPES[name] ?? escape);
}

function encodeBreaks(text: string): string {
  return text.replace(/[\n\t\r]/g, (character) => DECODED[character] ?? character);
}

function jsonCut(value: unknown): Cut | undefined {
  const json: string | undefined = JSON.stringify(value);
  // Without a string in it there is nothing to find.
  if (!json?.includes('"') || typeof value === "string") return undefined;
  return {
    json,
    reference: (keeper) =>
      pieces(decodeBreaks(json))
        .map((piece) => mark("j", keeper.text(piece)))
        .join(""),
  };
}

function opaqueCut(text: string, mime: string): Cut | undefined {
  if (text.length < OPAQUE || !text.isWellFormed()) return undefined;
  const decoded = Buffer.from(text, "base64");
  const isBase64 = decoded.toString("base64") === text;
  const data = isBase64 ? decoded : Buffer.from(text, "utf8");
  return {
    json: JSON.stringify(text),
    reference: (keeper) => mark(isBase64 ? "b" : "o", keeper.payload(data, mime)),
  };
}

/** Where words and opaque data stand: fields of a value, fields of its parts. */
const VALUE_KEYS = ["content", "summary", "errorMessage"];
const PART_KEYS = ["text", "thinking", "data", "signature"];

function cutsOfPart(part: Record<string, unknown>): (Cut | undefined)[] {
  const cuts: (Cut | undefined)[] = [];
  // In the order of the part's own keys, which is the order of the JSON.
  for (const [key, value] of Object.entries(part)) {
    if (key === "arguments") cuts.push(jsonCut(value));
    else if (typeof value !== "string") continue;
    else if (key === "text" || key === "thinking") cuts.push(textCut(value));
    else if (key === "data" || key === "signature")
      cuts.push(opaqueCut(value, key === "data" ? mimeOf(part) : "application/octet-stream"));
  }
  return cuts;
}

function mimeOf(part: Record<string, unknown>): string {
  const mime = part["mimeType"];
  return typeof mime === "string" ? mime : "application/octet-stream";
}

/** What of a message or another entry is worth keeping apart: its words, tool arguments, large opaque data. */
function cutsOf(value: Record<string, unknown>): (Cut | undefined)[] {
  const cuts: (Cut | undefined)[] = [];
  for (const [key, field] of Object.entries(value)) {
    if (!VALUE_KEYS.includes(key)) continue;
    if (typeof field === "string") cuts.push(textCut(field));
    else if (Array.isArray(field))
      for (const part of field as unknown[])
        if (typeof part === "object" && part !== null)
          cuts.push(...cutsOfPart(part as Record<string, unknown>));
  }
  return cuts;
}

/**
 * True when the bytes could also be found at a wrong place: behind a string that ends with a colon, where the first
 * quote closes it and punctuation follows.
 */
function isDoubtful(json: string): boolean {
  const next = json[json.indexOf('"') + 1] ?? "";
  return ",:]}".includes(next);
}

/** True when `end` is not inside of a string, `from` being outside. */
function isOutside(json: string, from: number, end: number): boolean {
  let inside = false;
  for (let at = from; at < end; at++) {
    const character = json[at];
    if (character === "\\" && inside) at += 1;
    else if (character === '"') inside = !inside;
  }
  return !inside;
}

/** Where the cut's bytes stand as a value, from `from` on; negative where they do not. */
function find(json: string, cut: string, from: number): number {
  const value = `:${cut}`;
  const doubtful = isDoubtful(cut);
  let found = json.indexOf(value, from);
  while (doubtful && found >= 0 && !isOutside(json, from, found)) found = json.indexOf(value, found + 1);
  return found;
}

/** The template of a value's JSON. */
export function cutTemplate(value: object, keeper: Keeper): string {
  const json = JSON.stringify(value);
  let template = "";
  let at = 0;
  for (const cut of cutsOf(value as Record<string, unknown>)) {
    if (!cut) continue;
    const found = find(json, cut.json, at);
    if (found < 0) continue;
    template += `${json.slice(at, found)}:${cut.reference(keeper)}`;
    at = found + 1 + cut.json.length;
  }
  return template + json.slice(at);
}

export interface Reference {
  form: Form;
  num: number;
}

/** The references of a template, in order. */
export function references(template: string): Reference[] {
  const parts = template.split(MARK);
  const found: Reference[] = [];
  // Between two marks stands a reference, between a reference and the next one JSON.
  for (let index = 1; index < parts.length; index += 2) found.push(referenceOf(parts[index] ?? ""));
  return found;
}

function referenceOf(part: string): Reference {
  return { form: part[0] as Form, num: Number(part.slice(1)) };
}

function pieceOf({ form, num }: Reference, source: Source): string {
  if (form === "t" || form === "j") return source.text(num);
  return Buffer.from(source.payload(num)).toString(form === "b" ? "base64" : "utf8");
}

/** Calls back for each kept value of a template, its pieces joined, and puts what it says at its place. */
function fill(template: string, source: Source, put: (form: Form, text: string) => string): string {
  const parts = template.split(MARK);
  let json = parts[0] ?? "";
  for (let index = 1; index < parts.length; index += 2) {
    const reference = referenceOf(parts[index] ?? "");
    let text = pieceOf(reference, source);
    while (parts[index + 1] === "" && index + 2 < parts.length) {
      index += 2;
      text += pieceOf(referenceOf(parts[index] ?? ""), source);
    }
    json +=
      put(reference.form, reference.form === "j" ? encodeBreaks(text) : text) + (parts[index + 1] ?? "");
  }
  return json;
}

/** The JSON that the template was cut from, byte for byte. */
export function fillTemplate(template: string, source: Source): string {
  return fill(template, source, (form, text) => (form === "j" ? text : JSON.stringify(text)));
}

/** How a string that begins with the mark stands in JSON. */
const ESCAPED_MARK = String.raw`"\u0001`;

/** The value that the template was cut from; cheaper than parsing what `fillTemplate` gives. */
export function parseTemplate(template: string, source: Source): unknown {
  const found: string[] = [];
  // A kept string that begins with the mark would be taken for a reference.
  let isPlain = !template.includes(ESCAPED_MARK);
  const json = fill(template, source, (form, text) => {
    if (form === "j") {
      isPlain &&= !text.includes(ESCAPED_MARK);
      return text;
    }
    return `${ESCAPED_MARK}${found.push(text) - 1}"`;
  });
  if (isPlain) {
    const value: unknown = JSON.parse(json);
    if (found.length === 0 || refill(value as Record<string, unknown>, found) === found.length) return value;
  }
  return JSON.parse(fillTemplate(template, source));
}

/** Puts strings back at the places that `cutsOf` takes them from; returns how many stood there. */
function refill(value: Record<string, unknown>, found: readonly string[]): number {
  let count = 0;
  const put = (record: Record<string, unknown>, key: string): void => {
    const field = record[key];
    if (typeof field !== "string" || !field.startsWith(MARK)) return;
    record[key] = found[Number(field.slice(1))];
    count += 1;
  };
  for (const key of VALUE_KEYS) {
    const field = value[key];
    if (!Array.isArray(field)) put(value, key);
    else
      for (const part of field as unknown[])
        if (typeof part === "object" && part !== null)
          for (const name of PART_KEYS) put(part as Record<string, unknown>, name);
  }
  return count;
}
