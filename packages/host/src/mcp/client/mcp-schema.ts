/** Makes a tool's schema acceptable to every provider: one invalid schema fails the whole request. */
import type { JsonSchema } from "@pagurus/contract/harness/tool";
import { isRecord } from "@pagurus/core/data/record-fields";
import { plainCopy, repairSchema } from "./schema-repair.ts";

const TYPES = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const DEEPEST = 50;
/** What Anthropic accepts as the name of an argument. */
const ARGUMENT = /^[a-zA-Z0-9_.-]{1,64}$/;
const SCHEMAS = ["items", "additionalProperties", "not", "contains", "propertyNames"];
const MAPS = ["properties", "patternProperties", "$defs", "definitions"];
const CHOICES = ["anyOf", "oneOf", "allOf"];
/** OpenAI and Anthropic reject these at the top level; the first two are of no use to a model and cost tokens in each request. */
const NOT_AT_TOP = new Set(["$schema", "$id", "enum", "not", "if", "then", "else", "$ref", ...CHOICES]);

function typeProblem(type: unknown): boolean {
  if (type === undefined) return false;
  const types = Array.isArray(type) ? type : [type];
  return types.length === 0 || types.some((each) => typeof each !== "string" || !TYPES.has(each));
}

function areTexts(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((item) => typeof item === "string"));
}

function inner(schema: Record<string, unknown>): [string, unknown][] {
  const maps = MAPS.flatMap((key) => {
    const map = schema[key];
    if (map === undefined) return [];
    return isRecord(map)
      ? Object.entries(map).map(([name, value]): [string, unknown] => [`${key}.${name}`, value])
      : [[key, undefined] as [string, unknown]];
  });
  const single = SCHEMAS.filter((key) => schema[key] !== undefined).flatMap((key): [string, unknown][] => {
    const value = schema[key];
    // Tuples, as in drafts before 2020.
    return key === "items" && Array.isArray(value)
      ? value.map((item, index) => [`items[${index}]`, item])
      : [[key, value]];
  });
  const choices = CHOICES.filter((key) => schema[key] !== undefined).flatMap((key): [string, unknown][] => {
    const value = schema[key];
    if (!Array.isArray(value) || value.length === 0) return [[key, undefined]];
    return value.map((item, index) => [`${key}[${index}]`, item]);
  });
  return [...maps, ...single, ...choices];
}

/** Path of the first invalid part; undefined when the schema is valid. */
function flawOf(schema: unknown, at: string, depth: number): string | undefined {
  if (typeof schema === "boolean") return undefined;
  if (!isRecord(schema) || depth > DEEPEST) return at;
  const under = (key: string): string => (at === "" ? key : `${at}.${key}`);
  if (typeProblem(schema["type"])) return under("type");
  if (!areTexts(schema["required"])) return under("required");
  if (schema["enum"] !== undefined && !Array.isArray(schema["enum"])) return under("enum");
  for (const key of ["description", "title", "$ref", "pattern", "format"])
    if (schema[key] !== undefined && typeof schema[key] !== "string") return under(key);
  for (const [key, value] of inner(schema)) {
    const flaw = flawOf(value, under(key), depth + 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

/** The arguments in a top-level branch, or in a definition that the top level refers to. */
function elsewhere(schema: Record<string, unknown>): Record<string, unknown> {
  const ref = schema["$ref"];
  const path = typeof ref === "string" ? /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) : null;
  const definitions = schema[path?.[1] ?? ""];
  const defined = path && isRecord(definitions) ? definitions[path[2] ?? ""] : undefined;
  const branches = CHOICES.flatMap((key) => (Array.isArray(schema[key]) ? (schema[key] as unknown[]) : []));
  const found = [defined, ...branches].map((each) => (isRecord(each) ? each["properties"] : undefined));
  return Object.fromEntries(found.filter(isRecord).flatMap((properties) => Object.entries(properties)));
}

export interface ReadSchema {
  parameters: JsonSchema;
  /** Arguments that are left out, since not every provider accepts their names. */
  dropped: string[];
}

/** A string says why the schema cannot be used, as the end of a sentence. */
export function readSchema(schema: unknown): ReadSchema | string {
  if (!isRecord(schema)) return schema === undefined ? "is missing" : "is no object";
  if (![schema["type"]].flat().some((type) => type === undefined || type === null || type === "object"))
    return "is not that of an object";
  const raw = repairSchema({ ...schema, type: "object" });
  // Checked before it is serialized, which fails for a deep one.
  const flaw = flawOf(raw, "", 0);
  if (flaw !== undefined) return `is not valid at "${flaw.slice(0, 100).toWellFormed()}"`;
  const top = Object.entries(raw).filter(([key]) => !NOT_AT_TOP.has(key));
  const rest = Object.fromEntries(top);
  const all = Object.entries({
    ...elsewhere(raw),
    ...(isRecord(rest["properties"]) ? rest["properties"] : {}),
  });
  const properties = Object.fromEntries(all.filter(([name]) => ARGUMENT.test(name)));
  const dropped = all.map(([name]) => name).filter((name) => !ARGUMENT.test(name));
  const required = Array.isArray(rest["required"]) ? (rest["required"] as string[]) : [];
  const needed = required.find((name) => !ARGUMENT.test(name));
  if (needed !== undefined)
    return `needs the argument ${JSON.stringify(needed.slice(0, 60).toWellFormed())}, whose name not every provider takes`;
  const parameters = plainCopy({ ...rest, type: "object", properties });
  return parameters ? { parameters, dropped } : "is nested too deeply";
}
