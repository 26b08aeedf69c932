import assert from "node:assert/strict";
import { test } from "node:test";
import { readSchema } from "../../../packages/host/src/mcp/client/mcp-schema.ts";

function parameters(schema: unknown): unknown {
  const read = readSchema(schema);
  assert.ok(typeof read === "object");
  return read.parameters;
}

test("a usual schema stays unchanged", () => {
  const schema = {
    type: "object",
    properties: {
      a: { type: ["string", "null"], enum: ["x", null], pattern: "^x" },
      b: { type: "array", items: { anyOf: [{ $ref: "#/$defs/c" }, { type: "null" }] } },
    },
    required: ["a"],
    additionalProperties: false,
    $defs: { c: { type: "object", properties: {}, additionalProperties: { type: "integer" } } },
  };
  assert.deepEqual(parameters(schema), schema);
  assert.deepEqual(parameters({}), { type: "object", properties: {} });
});

test("top-level keywords that providers reject are merged into properties", () => {
  const one = { properties: { a: { type: "string" } }, required: ["a"] };
  const two = { properties: { b: { type: "string" } }, required: ["b"] };
  assert.deepEqual(parameters({ oneOf: [one, two], not: {}, $schema: "x", $id: "y" }), {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "string" } },
  });
  assert.deepEqual(parameters({ $ref: "#/$defs/one", $defs: { one } }), {
    type: "object",
    properties: { a: { type: "string" } },
    $defs: { one },
  });
  assert.deepEqual(parameters({ $ref: "#/$defs/none" }), { type: "object", properties: {} });
});

test("an invalid schema is reported with its path", () => {
  const flaw = (property: unknown): unknown => readSchema({ type: "object", properties: { a: property } });
  assert.equal(flaw(5), 'is not valid at "properties.a"');
  assert.equal(flaw({ type: "text" }), 'is not valid at "properties.a.type"');
  assert.equal(flaw({ type: [] }), 'is not valid at "properties.a.type"');
  assert.equal(flaw({ required: true }), 'is not valid at "properties.a.required"');
  assert.equal(flaw({ enum: "x" }), 'is not valid at "properties.a.enum"');
  assert.equal(flaw({ description: 1 }), 'is not valid at "properties.a.description"');
  assert.equal(flaw({ items: { anyOf: [] } }), 'is not valid at "properties.a.items.anyOf"');
  assert.equal(flaw({ properties: [] }), 'is not valid at "properties.a.properties"');
  assert.equal(readSchema({ properties: [] }), 'is not valid at "properties"');
  assert.equal(readSchema({ required: [1] }), 'is not valid at "required"');
});

test("a schema that is nested too deeply to be serialized is rejected", () => {
  const deep = JSON.parse(`${'{"items":'.repeat(20_000)}{}${"}".repeat(20_000)}`) as object;
  const flaw = readSchema({ properties: { a: deep } });
  assert.ok(typeof flaw === "string");
  assert.match(flaw, /^is not valid at "properties\.a\.items/);
  const hidden = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`) as object;
  assert.equal(readSchema({ properties: { a: { default: hidden } } }), "is nested too deeply");
});

test("an argument whose name not every provider accepts is left out; when it is required, so is the tool", () => {
  const properties = { $filter: {}, é: {}, fine: {} };
  assert.deepEqual(readSchema({ type: "object", properties }), {
    parameters: { type: "object", properties: { fine: {} } },
    dropped: ["$filter", "é"],
  });
  assert.equal(
    readSchema({ properties, required: ["fine", "$filter"] }),
    'needs the argument "$filter", whose name not every provider takes',
  );
});

test("half a surrogate pair is not sent in a request", () => {
  const read = parameters({ properties: { a: { description: "x\ud83d" } } });
  assert.ok(!JSON.stringify(read).includes(String.raw`\ud83d`));
});

test("what one provider refuses is repaired in the schemas of all", () => {
  const repaired = (property: object, root: object = {}): unknown => {
    const read = parameters({ ...root, properties: { a: property } }) as { properties: { a: unknown } };
    return read.properties.a;
  };
  const string = { type: "string" };
  const table: [string, object, unknown][] = [
    ["an array without items", { type: "array" }, { type: "array", items: {} }],
    ["a nullable one", { type: ["array", "null"] }, { type: ["array", "null"], items: {} }],
    ["items of true", { type: "array", items: true }, { type: "array", items: {} }],
    ["a tuple of draft 7", { items: [string, {}] }, { items: { anyOf: [string, {}] } }],
    ["a tuple of 2020", { prefixItems: [string], items: false }, { items: string }],
    ["a limit of draft 4", { exclusiveMaximum: true, maximum: 9 }, { exclusiveMaximum: 9 }],
    ["one that is not exclusive", { exclusiveMinimum: false, minimum: 0 }, { minimum: 0 }],
    ["an empty choice", { ...string, enum: [] }, string],
    ["a choice twice", { enum: ["x", "x"] }, { enum: ["x"] }],
    ["a missing definition", { $ref: "#/$defs/Missing", description: "d" }, { description: "d" }],
    ["another document", { $ref: "https://example.com/a.json" }, {}],
    ["a nested missing definition", { items: { $ref: "#/x" } }, { items: {} }],
    ["null as a keyword", { ...string, description: null, required: null }, string],
    ["null as a value", { default: null, enum: [null] }, { default: null, enum: [null] }],
    [
      "required names",
      { properties: { b: {}, c: true, d: false }, required: ["b", "b", "gone", "d"] },
      { properties: { b: {}, c: {} }, required: ["b"] },
    ],
  ];
  for (const [what, given, expected] of table) assert.deepEqual(repaired(given), expected, what);
  const root = { $defs: { "a/b": string } };
  assert.deepEqual(repaired({ $ref: "#/$defs/a~1b" }, root), { $ref: "#/$defs/a~1b" });
});

test("a schema that is none, or not of an object, is refused", () => {
  assert.equal(readSchema(undefined), "is missing");
  for (const schema of ["x", 5, [], null, true]) assert.equal(readSchema(schema), "is no object");
  assert.equal(readSchema({ type: "array" }), "is not that of an object");
  assert.deepEqual(parameters({ type: ["object", "null"] }), { type: "object", properties: {} });
});
