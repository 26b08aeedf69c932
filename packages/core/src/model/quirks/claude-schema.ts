/** JSON schemas of answers for Anthropic's constrained decoder (`output_config.format`). */
import { attempt } from "../../data/attempt.ts";
import { isRecord, listOf, recordOf } from "../../data/record-fields.ts";

type Schema = Readonly<Record<string, unknown>>;

const STRING_FORMATS = new Set("date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" "));
/** Members that are sent as they are. */
const UNCHANGED_MEMBERS = ["$schema", "$id", "title", "description", "default", "const", "enum", "type"];
/** Constraints that the decoder rejects; the description has them for the model. */
const DESCRIBED = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "not",
];
/** Most optional properties that it compiles in time, on each of its platforms. */
const MOST_OPTIONAL = 10;

function mapped(schemas: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(recordOf(schemas)).map(([name, one]) => [name, plain(one)]));
}

function plain(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const definitions = {
    ...(schema["definitions"] == null ? {} : { definitions: mapped(schema["definitions"]) }),
    ...(schema["$defs"] == null ? {} : { $defs: mapped(schema["$defs"]) }),
  };
  if (schema["$ref"] != null) return { $ref: schema["$ref"], ...definitions };
  const result: Record<string, unknown> = {};
  for (const name of UNCHANGED_MEMBERS)
    if (schema[name] !== undefined && schema[name] !== null) result[name] = schema[name];
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (choices != null) result["anyOf"] = listOf(choices).map(plain);
  if (schema["allOf"] != null) result["allOf"] = listOf(schema["allOf"]).map(plain);
  Object.assign(result, definitions);
  if (schema["type"] === "object" || schema["properties"] != null) {
    if (schema["properties"] != null) result["properties"] = mapped(schema["properties"]);
    result["additionalProperties"] = false;
    if (schema["required"] != null) result["required"] = schema["required"];
  }
  const { items, format } = schema;
  if (items != null) result["items"] = Array.isArray(items) ? items.map(plain) : plain(items);
  if (typeof format === "string" && STRING_FORMATS.has(format)) result["format"] = format;
  const said = constraints(schema);
  const own = result["description"];
  if (said !== "") result["description"] = typeof own === "string" ? `${own}\n${said}` : said;
  return result;
}

function constraints(schema: Schema): string {
  const said = DESCRIBED.flatMap((name) => {
    const value = schema[name];
    if (value === undefined || value === null || value === false) return [];
    const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    return [`${words}: ${typeof value === "string" ? value : JSON.stringify(value)}`];
  });
  const { format } = schema;
  if (typeof format === "string" && !STRING_FORMATS.has(format)) said.push(`format: ${format}`);
  return said.length === 0 ? "" : `${said.join("; ")}.`;
}

/** The schema without what the decoder rejects. */
export function claudeSchema(schema: Schema): unknown {
  return plain(schema);
}

/** The subschema that a local reference names. */
function targetOf(root: Schema, reference: string): unknown {
  let current: unknown = root;
  for (const part of reference.split("/").slice(1)) {
    const decoded = attempt(() => decodeURIComponent(part)) ?? part;
    const name = decoded.replaceAll("~1", "/").replaceAll("~0", "~");
    current = Array.isArray(current) ? (current as unknown[])[Number(name)] : recordOf(current)[name];
  }
  return current;
}

function isOpenObject({ additionalProperties, patternProperties, properties, type }: Schema): boolean {
  if (additionalProperties === true || isRecord(additionalProperties)) return true;
  if (Object.keys(recordOf(patternProperties)).length > 0) return true;
  const isObject = type === "object" || listOf(type).includes("object");
  return isObject && properties == null && additionalProperties !== false;
}

const INNER = ["additionalProperties", "contains", "else", "if", "items", "not", "then"];
const SCHEMA_LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const SCHEMA_MAPS = ["dependentSchemas", "patternProperties", "properties"];

function innerSchemas(schema: Schema): unknown[] {
  return [
    ...INNER.flatMap((name) => (Array.isArray(schema[name]) ? listOf(schema[name]) : [schema[name]])),
    ...SCHEMA_LISTS.flatMap((name) => listOf(schema[name])),
    ...SCHEMA_MAPS.flatMap((name) => Object.values(recordOf(schema[name]))),
  ];
}

/** Optional properties of a schema, each counted at every use; infinite for an open object and for one that contains itself. */
function optionalProperties(schema: unknown, root: Schema, within: readonly string[]): number {
  if (!isRecord(schema)) return 0;
  if (isOpenObject(schema)) return Infinity;
  const required = new Set(listOf(schema["required"]));
  let count = Object.keys(recordOf(schema["properties"])).filter((name) => !required.has(name)).length;
  const reference = schema["$ref"];
  if (typeof reference === "string" && reference.startsWith("#")) {
    if (reference === "#" || within.includes(reference)) return Infinity;
    count += optionalProperties(targetOf(root, reference), root, [...within, reference]);
  }
  for (const inner of innerSchemas(schema)) {
    if (count > MOST_OPTIONAL) return count;
    count += optionalProperties(inner, root, within);
  }
  return count;
}

/** Whether the decoder can represent the schema without rejecting it or closing an open object. */
export function isNativeSchema(schema: Schema): boolean {
  return optionalProperties(schema, schema, []) <= MOST_OPTIONAL;
}
