/** A value as JSON represents it, or undefined when JSON would drop or change a part of it (a cycle, a date, NaN). */
export function asJson(value: unknown): unknown {
  return isJson(value, new Set()) ? JSON.parse(JSON.stringify(value)) : undefined;
}

function isJson(value: unknown, above: Set<object>): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || above.has(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  above.add(value);
  // An undefined member counts as absent; in a list it would become null.
  const fine = Array.isArray(value)
    ? value.every((item) => isJson(item, above))
    : Object.entries(value).every(([, member]) => member === undefined || isJson(member, above));
  above.delete(value);
  return fine;
}
