import assert from "node:assert/strict";
import { it } from "node:test";
import { checkArguments } from "../../packages/host/src/tool/arguments.ts";

it("defaults of a tool's schema are put in before its arguments are checked (finding C6)", () => {
  const inner = {
    type: "object",
    required: ["unit"],
    properties: { unit: { type: "string", default: "m" } },
  };
  const schema = {
    type: "object",
    required: ["limit", "tags"],
    properties: {
      limit: { type: "integer", default: 10 },
      tags: { type: "array", items: inner, default: [] },
      size: inner,
    },
  };
  assert.deepEqual(checkArguments(schema, { size: {}, limit: null }), {
    params: { limit: 10, tags: [], size: { unit: "m" } },
  });
  assert.deepEqual(checkArguments(schema, { limit: 2, tags: [{}] }), {
    params: { limit: 2, tags: [{ unit: "m" }] },
  });
  assert.match(
    JSON.stringify(checkArguments({ ...schema, required: ["size"] }, {})),
    /\\"size\\" is missing/,
  );
});
