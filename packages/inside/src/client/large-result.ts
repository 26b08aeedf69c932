/** Large texts in the result of a tool, kept by the host and replaced by stubs. Imports nothing, as all of the client. */

/** Characters from which a text is kept by the host. */
export const LARGE = 8_000;
/** Characters of its beginning and of its end that a stub shows. */
const SHOWN = 1_200;

/** The text in the place of a kept one; `tool` is the name of the tool that opens it. */
export function stubOf(text: string, id: string, tool: string): string {
  const lines = text.split("\n").length;
  const head = text.slice(0, SHOWN).toWellFormed();
  const tail = text.slice(-SHOWN).toWellFormed();
  const note = `[Pagurus keeps the whole of this result: ${text.length} characters, ${lines} lines. The tool ${tool} with the id ${id} gives its exact text; this is its beginning and its end.]`;
  return `${note}\n${head}\n[…]\n${tail}`;
}

/** A text of a tool's record, by its path in the record. */
export interface LargeText {
  path: (string | number)[];
  text: string;
}

/** The largest text of a record that is large enough to be kept; undefined for a record without one, and for pictures. */
export function largestText(record: unknown): LargeText | undefined {
  let found: LargeText | undefined;
  const visit = (value: unknown, path: (string | number)[]): void => {
    if (typeof value === "string") {
      if (value.length >= LARGE && value.length > (found?.text.length ?? 0)) found = { path, text: value };
    } else if (Array.isArray(value)) value.forEach((item, index) => visit(item, [...path, index]));
    else if (typeof value === "object" && value !== null && !isPicture(value))
      for (const [key, item] of Object.entries(value)) visit(item, [...path, key]);
  };
  visit(record, []);
  return found;
}

function isPicture(value: object): boolean {
  const fields = value as Record<string, unknown>;
  return fields["type"] === "image" || fields["isImage"] === true || "base64" in fields;
}

/** The record with another text at a path. */
export function withText(record: unknown, path: readonly (string | number)[], text: string): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return text;
  if (Array.isArray(record))
    return record.map((item: unknown, index) => (index === key ? withText(item, rest, text) : item));
  const fields = record as Record<string, unknown>;
  return { ...fields, [key]: withText(fields[key], rest, text) };
}
