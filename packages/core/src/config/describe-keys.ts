/** Adds the notes of `KEY_NOTES` to the JSON Schema of the configuration, and lists the schema's keys. */
import type { KeyNote } from "./connection-notes.ts";
import { KEY_NOTES } from "./key-notes.ts";

export type SchemaNode = Record<string, unknown>;

/** A key of the schema, by the path that `KEY_NOTES` uses. */
export interface SchemaKey {
  path: string;
  node: SchemaNode;
}

/** Adds the meaning and default of each key that has a note. Changes the schema's nodes in place. */
export function describeKeys(schema: SchemaNode): SchemaNode {
  for (const { path, node } of schemaKeys(schema)) {
    const note = noteOf(path);
    if (note !== undefined) node["description"] = sentenceOf(note);
  }
  return schema;
}

/** The note of a key; agents of the list share those of the defaults, and the bundled engine those of any plugin. */
export function noteOf(path: string): KeyNote | undefined {
  const alike = path
    .replace("agents.list[].", "agents.defaults.")
    .replace("plugins.entries.lossless.", "plugins.entries.<>.");
  return KEY_NOTES[path] ?? KEY_NOTES[alike];
}

function sentenceOf([meaning, fallback]: KeyNote): string {
  return fallback === undefined ? meaning : `${meaning} (default: ${fallback})`;
}

/** All keys below a node, each before its children. `<>` means a key that the user chooses. */
export function schemaKeys(node: SchemaNode, path = ""): SchemaKey[] {
  const below = innerKeys(node, path);
  return below.flatMap((key) => [...(key.path === path ? [] : [key]), ...schemaKeys(key.node, key.path)]);
}

function innerKeys(node: SchemaNode, path: string): SchemaKey[] {
  const { properties, additionalProperties, items, anyOf } = node as {
    properties?: Record<string, SchemaNode>;
    additionalProperties?: SchemaNode | boolean;
    items?: SchemaNode;
    anyOf?: SchemaNode[];
  };
  const prefix = path === "" ? "" : `${path}.`;
  const keys = Object.entries(properties ?? {}).map(([key, inner]) => ({ path: prefix + key, node: inner }));
  if (typeof additionalProperties === "object")
    keys.push({ path: `${prefix}<>`, node: additionalProperties });
  if (items !== undefined) keys.push({ path: `${path}[]`, node: items });
  return [...keys, ...(anyOf ?? []).map((inner) => ({ path, node: inner }))];
}
