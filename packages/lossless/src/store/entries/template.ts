/**
 * Templates of entries: their JSON with texts replaced by references (`cutting.ts`). A reference is
 * `\x01<form><number>\x01`; JSON has no raw control characters, so it is unambiguous.
 */
import { MARK, PART_KEYS, VALUE_KEYS, type Cutting, type Form } from "./cutting.ts";

export interface Source {
  text(num: number): string;
  payload(num: number): Uint8Array;
}

type Part = Cutting["parts"][number];

/** Makes the template of a cutting; `numberOf` returns the number of each stored part. */
export function templateOf(
  { json, parts }: Cutting,
  numberOf: (part: Part, index: number) => number,
): string {
  if (parts.length === 0) return json;
  const pieces = json.split(MARK);
  parts.forEach((part, index) => {
    pieces[2 * index + 1] = part.form + numberOf(part, index);
  });
  return pieces.join(MARK);
}

/** The original JSON, byte for byte. */
export function jsonOf(cutting: Cutting): string {
  const part = (num: number): Part | undefined => cutting.parts[num];
  return fillTemplate(
    templateOf(cutting, (_, index) => index),
    {
      text: (num) => {
        const found = part(num);
        return found && "text" in found ? found.text : "";
      },
      payload: (num) => {
        const found = part(num);
        return found && "data" in found ? found.data : new Uint8Array();
      },
    },
  );
}

const DECODED: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

function encodeBreaks(text: string): string {
  return text.replace(/[\n\t\r]/g, (character) => DECODED[character] ?? character);
}

export interface Reference {
  form: Form;
  num: number;
}

/** The references of a template, in order. */
export function references(template: string): Reference[] {
  const parts = template.split(MARK);
  const found: Reference[] = [];
  // References (between marks) and JSON alternate.
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

/** Calls `put` for each stored value of a template, its pieces joined, and inserts the result at its place. */
function fillPlaces(template: string, source: Source, put: (form: Form, text: string) => string): string {
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
  return fillPlaces(template, source, (form, text) => (form === "j" ? text : JSON.stringify(text)));
}

/** Start of a JSON string that begins with the mark. */
const ESCAPED_MARK = String.raw`"\u0001`;

/** The value that the template was cut from; cheaper than parsing the result of `fillTemplate`. */
export function parseTemplate(template: string, source: Source): unknown {
  const found: string[] = [];
  // A stored string that begins with the mark would be parsed as a reference.
  let isPlain = !template.includes(ESCAPED_MARK);
  const json = fillPlaces(template, source, (form, text) => {
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

/** Puts strings back at the places that `cut` takes them from; returns the number of these places. */
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
