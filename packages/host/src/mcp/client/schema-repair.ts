/**
 * Repairs of a tool's schema that keep its meaning, or widen it: what one provider refuses must reach none. The server checks the
 * arguments of a call itself.
 */
import { plainText } from "@pagurus/core/data/plain-text";
import { isRecord, type Fields } from "@pagurus/core/data/record-fields";

/** Deeper schemas are refused before. */
const DEEPEST = 50;
/** Keywords whose value may be null, or a list of any values. */
const VALUES = new Set(["default", "const", "enum", "example", "examples"]);
const SCHEMA_LISTS = ["anyOf", "oneOf", "allOf"];
const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const SINGLE = ["items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"];

function typesOf({ type }: Fields): readonly unknown[] {
  return Array.isArray(type) ? (type as unknown[]) : [type];
}

/** Whether a local reference has a target; references to other documents have none here. */
function resolves(ref: string, root: Fields): boolean {
  if (ref === "#") return true;
  if (!ref.startsWith("#/")) return false;
  let at: unknown = root;
  for (const step of ref.slice(2).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isRecord(at) || !Object.hasOwn(at, key)) return false;
    at = at[key];
  }
  return isRecord(at) || typeof at === "boolean";
}

/** A boolean limit of draft 4 says how its neighbour is meant. */
function repairLimits(schema: Record<string, unknown>): void {
  for (const [exclusive, inclusive] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (typeof schema[exclusive] !== "boolean") continue;
    const limit = schema[inclusive];
    if (schema[exclusive] && typeof limit === "number") {
      schema[exclusive] = limit;
      delete schema[inclusive];
    } else delete schema[exclusive];
  }
}

/** Items of a tuple, in the form of either draft, as one schema for all of them. */
function arrays(schema: Record<string, unknown>): void {
  const { items, prefixItems } = schema;
  const tuple = [
    ...(Array.isArray(items) ? (items as unknown[]) : []),
    ...(Array.isArray(prefixItems) ? (prefixItems as unknown[]) : []),
  ];
  if (tuple.length > 0) {
    schema["items"] = tuple.length === 1 ? tuple[0] : { anyOf: tuple };
    delete schema["prefixItems"];
    delete schema["additionalItems"];
  } else if (items === undefined ? typesOf(schema).includes("array") : !isRecord(items)) schema["items"] = {};
}

function required(schema: Record<string, unknown>): void {
  const { required: names, properties } = schema;
  if (names === undefined) return;
  const known = isRecord(properties) ? properties : {};
  const kept = Array.isArray(names)
    ? [...new Set(names as unknown[])].filter(
        (name) => typeof name !== "string" || Object.hasOwn(known, name),
      )
    : names;
  if (Array.isArray(kept) && kept.length === 0) delete schema["required"];
  else schema["required"] = kept;
}

/** True in place of a schema accepts everything; false forbids the value, which only a map can express by leaving it out. */
function repairedMap(map: Fields, root: Fields, depth: number): Fields {
  return Object.fromEntries(
    Object.entries(map)
      .filter(([, value]) => value !== false)
      .map(([key, value]) => [key, value === true ? {} : repaired(value, root, depth + 1)]),
  );
}

function repaired(value: unknown, root: Fields, depth: number): unknown {
  if (!isRecord(value) || depth > DEEPEST) return value;
  const entries = Object.entries(value).filter(([key, item]) => item !== null || VALUES.has(key));
  const schema: Record<string, unknown> = Object.fromEntries(entries);
  if (typeof schema["$ref"] === "string" && !resolves(schema["$ref"], root)) delete schema["$ref"];
  if (Array.isArray(schema["enum"])) {
    const values = [...new Set(schema["enum"] as unknown[])];
    if (values.length === 0) delete schema["enum"];
    else schema["enum"] = values;
  }
  repairLimits(schema);
  arrays(schema);
  for (const key of MAPS) if (isRecord(schema[key])) schema[key] = repairedMap(schema[key], root, depth);
  for (const key of SCHEMA_LISTS) {
    const choices = schema[key];
    if (Array.isArray(choices))
      schema[key] = choices.map((choice) => (choice === true ? {} : repaired(choice, root, depth + 1)));
  }
  for (const key of SINGLE) if (isRecord(schema[key])) schema[key] = repaired(schema[key], root, depth + 1);
  required(schema);
  return schema;
}

/** Repairs a schema of at most 50 levels; deeper parts stay as they are. `schema` is not changed. */
export function repairSchema(schema: Fields): Record<string, unknown> {
  return repaired(schema, schema, 0) as Record<string, unknown>;
}

/** The same with every text in it plain, as JSON. Undefined for one that cannot be serialized. */
export function plainCopy<T>(schema: T): T | undefined {
  try {
    const text = JSON.stringify(schema, (_key, value: unknown) =>
      typeof value === "string" ? plainText(value) : value,
    );
    return JSON.parse(text) as T;
  } catch {
    // It is nested too deeply; the reason is always the same.
    return undefined;
  }
}
