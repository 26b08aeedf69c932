/** What an agent tells, whose shape nobody has checked, read field by field. */

export type Fields = Readonly<Record<string, unknown>>;

/** The value's fields; none where it has none. */
export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The value where it is a text, else an empty one. */
export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The value where it is a list, else an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
