/** Parts of a JSON value; nothing is taken for granted. */
export type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Empty for what is no object. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** Empty for what is no list; what is no object in it has no fields. */
export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

/** Empty for what is no text. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Undefined for what is no number, and for one below 0. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Undefined for what is no object in JSON: a proxy's page, or a line that was cut. */
export function parsedFields(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
