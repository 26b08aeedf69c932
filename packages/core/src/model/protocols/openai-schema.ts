/** Tool schemas without keywords that OpenAI's own models reject a whole request for. */
import type { Quirks } from "../quirks/quirk-kinds.ts";
import { isRecord, recordOf } from "../../data/record-fields.ts";

/** Members whose value is a schema, or a list of schemas. */
const SCHEMAS = [
  "additionalProperties",
  "additionalItems",
  "items",
  "contains",
  "not",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "then",
  "else",
];
/** Members whose values are schemas by name. */
const NAMED = ["properties", "patternProperties", "definitions", "$defs", "dependencies"];

/** Characters of a pattern that are no lookaround: escaped ones, and those of a set. */
const INNOCENT = /\\[^]|\[(?:\\[^]|[^\]\\])*\]/g;
const LOOKAROUND = /\(\?<?[=!]/;

function looksAround(pattern: string): boolean {
  return LOOKAROUND.test(pattern.replaceAll(INNOCENT, ""));
}

function each(value: unknown): unknown {
  return Array.isArray(value) ? value.map((one: unknown) => normal(one)) : normal(value);
}

function schemasByName(schemas: Record<string, unknown>): Record<string, unknown> {
  // The values of `dependencies` may be lists of names.
  return Object.fromEntries(Object.entries(schemas).map(([name, value]) => [name, normal(value)]));
}

/** The reference of a schema whose `allOf` is that reference alone. */
function onlyReference({ allOf }: Record<string, unknown>): string | undefined {
  const [only, ...more] = Array.isArray(allOf) ? (allOf as unknown[]) : [];
  const { $ref } = recordOf(only);
  return more.length === 0 && typeof $ref === "string" && Object.keys(recordOf(only)).length === 1
    ? $ref
    : undefined;
}

function normal(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const fields = normalFields(schema);
  const reference = onlyReference(fields);
  if (reference === undefined) return fields;
  const { allOf: _allOf, ...rest } = fields;
  return { ...rest, $ref: reference };
}

function normalFields(schema: Record<string, unknown>): Record<string, unknown> {
  const { propertyNames: _names, ...fields } = schema;
  if (typeof fields["pattern"] === "string" && looksAround(fields["pattern"])) delete fields["pattern"];
  for (const name of SCHEMAS) if (name in fields) fields[name] = each(fields[name]);
  for (const name of NAMED) if (isRecord(fields[name])) fields[name] = schemasByName(fields[name]);
  return fields;
}

function referenced(root: Record<string, unknown>, reference: string): Record<string, unknown> | undefined {
  const [, keyword = "", encoded = ""] = /^#\/(definitions|\$defs)\/(.+)$/.exec(reference) ?? [];
  const name = encoded.replaceAll("~1", "/").replaceAll("~0", "~");
  const definition = recordOf(root[keyword])[name];
  return isRecord(definition) ? definition : undefined;
}

/** The schema of a tool's parameters. The root stays an object: a reference there is replaced by what it names. */
function openAiSchema(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const fields = normalFields(schema);
  const reference = onlyReference(fields);
  const target = reference === undefined ? undefined : referenced(fields, reference);
  if (!target) return fields;
  const { allOf: _allOf, ...rest } = fields;
  return { ...target, ...rest };
}

/** A schema of a tool or an answer as the model's server takes it. */
export function sentSchema({ plainSchemas }: Quirks, schema: unknown): unknown {
  return plainSchemas ? openAiSchema(schema) : schema;
}
