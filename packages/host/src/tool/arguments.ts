/** Validates a model's arguments against the part of JSON Schema that tools use, and reads them with their types. */
import type { JsonSchema } from "@pagurus/contract/harness/tool";
import { isRecord } from "@pagurus/core/data/record-fields";

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

function fitsType(value: unknown, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "number") return typeof value === "number" && Number.isFinite(value);
  return typeOf(value) === type;
}

function wantedTypes(schema: JsonSchema): string[] {
  const type = schema["type"];
  if (typeof type === "string") return [type];
  return Array.isArray(type) ? type.filter((item) => typeof item === "string") : [];
}

function objectProblems(schema: JsonSchema, value: Record<string, unknown>, at: string): string[] {
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const name = (key: string): string => (at === "" ? key : `${at}.${key}`);
  const problems: string[] = [];
  for (const key of required) {
    if (typeof key === "string" && value[key] === undefined) problems.push(`"${name(key)}" is missing`);
  }
  for (const [key, item] of Object.entries(value)) {
    const inner = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (isRecord(inner)) problems.push(...problemsOf(inner, item, name(key)));
    else if (schema["additionalProperties"] === false) {
      problems.push(`"${name(key)}" is not known (known: ${Object.keys(properties).join(", ")})`);
    }
  }
  return problems;
}

function problemsOf(schema: JsonSchema, value: unknown, at: string): string[] {
  const types = wantedTypes(schema);
  if (types.length > 0 && !types.some((type) => fitsType(value, type))) {
    return [`"${at}" must be ${types.join(" or ")}, not ${typeOf(value)}`];
  }
  const allowed = schema["enum"];
  if (Array.isArray(allowed) && !allowed.includes(value)) {
    return [`"${at}" must be one of ${JSON.stringify(allowed)}`];
  }
  if (typeof value === "number") {
    const { minimum, maximum } = schema as { minimum?: unknown; maximum?: unknown };
    if (typeof minimum === "number" && value < minimum) return [`"${at}" must be at least ${minimum}`];
    if (typeof maximum === "number" && value > maximum) return [`"${at}" must be at most ${maximum}`];
  }
  if (isRecord(value)) return objectProblems(schema, value, at);
  if (Array.isArray(value) && isRecord(schema["items"])) {
    const items = schema["items"];
    return value.flatMap((item, index) => problemsOf(items, item, `${at}[${index}]`));
  }
  return [];
}

/** Removes `null` values where the schema does not allow null: models write null for an argument they leave out. */
function withoutNulls(schema: JsonSchema, value: Record<string, unknown>): Record<string, unknown> {
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  return Object.fromEntries(
    Object.entries(value).filter(([key, item]) => {
      if (item === undefined) return false;
      const inner = Object.hasOwn(properties, key) ? properties[key] : undefined;
      return item !== null || !isRecord(inner) || wantedTypes(inner).includes("null");
    }),
  );
}

/** The value with the schema's `default`s for absent properties, at every depth of existing objects and lists. */
function withDefaults(schema: JsonSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = schema["items"];
    return isRecord(items) ? value.map((item) => withDefaults(items, item)) : value;
  }
  if (!isRecord(value) || !isRecord(schema["properties"])) return value;
  const filled: Record<string, unknown> = { ...value };
  for (const [key, inner] of Object.entries(schema["properties"])) {
    if (!isRecord(inner) || key === "__proto__") continue;
    if (Object.hasOwn(filled, key)) filled[key] = withDefaults(inner, filled[key]);
    else if (inner["default"] !== undefined) filled[key] = structuredClone(inner["default"]);
  }
  return filled;
}

/**
 * The arguments to use, or every problem in one line. Checks required, type, enum, bounds, properties, items, after adding
 * defaults.
 */
export function checkArguments(
  schema: JsonSchema,
  value: unknown,
): { params: Record<string, unknown> } | { problem: string } {
  if (!isRecord(value)) return { problem: `the arguments must be an object, not ${typeOf(value)}` };
  const params = withDefaults(schema, withoutNulls(schema, value)) as Record<string, unknown>;
  const problems = objectProblems(schema, params, "");
  return problems.length > 0 ? { problem: problems.join("; ") } : { params };
}

export function stringArgument(params: Record<string, unknown>, name: string): string | undefined {
  const value = params[name];
  return typeof value === "string" ? value : undefined;
}

export function numberArgument(params: Record<string, unknown>, name: string): number | undefined {
  const value = params[name];
  return typeof value === "number" ? value : undefined;
}

export function flagArgument(params: Record<string, unknown>, name: string): boolean {
  return params[name] === true;
}
