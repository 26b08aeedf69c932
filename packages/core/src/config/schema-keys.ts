/** Lists the keys of the configuration's JSON Schema. */

export type SchemaNode = Record<string, unknown>;

/** A key of the schema by its path, such as `mcp.servers.<>.args`: `<>` is a key that the user chooses, `[]` an element of a list. */
export interface SchemaKey {
  path: string;
  node: SchemaNode;
}

/** All keys below a node, each before its children. */
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
