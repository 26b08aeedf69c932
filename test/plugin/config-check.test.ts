import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { assertPluginConfig, checkPluginConfig } from "../../packages/host/src/plugin/plugin-config-check.ts";
import type { PluginManifest } from "../../packages/host/src/plugin/manifest.ts";
import { byLength } from "../runner/short-form.ts";
import { longTest } from "../runner/long-tests.ts";

const RUNS = byLength(5_000, 300, 100);

function manifestOf(configSchema: unknown): PluginManifest {
  return {
    id: "my-plugin",
    kinds: [],
    declared: true,
    modules: [],
    needs: {},
    commandAliases: {},
    warnings: [],
    configSchema: configSchema as boolean,
  };
}

const check = (schema: unknown, config: unknown) => checkPluginConfig(manifestOf(schema), config);

describe("a plugin's settings", () => {
  const schema = {
    type: "object",
    additionalProperties: false,
    required: ["url"],
    properties: {
      url: { type: "string", format: "uri" },
      mode: { type: "string", enum: ["fast", "safe"] },
      depth: { type: "integer", minimum: 1, maximum: 9 },
      key: { type: "string", minLength: 20 },
      name: { type: "string", pattern: "^[a-z]+$" },
      nested: {
        type: "object",
        properties: { list: { type: "array", items: { type: "number" }, minItems: 1 } },
      },
    },
  };

  it("are checked by its schema: each problem names the key's path and what is expected", () => {
    const config = { mode: "slow", depth: 0, key: "sk-secret", name: "B2", nested: { list: ["x"] }, more: 1 };
    assert.deepEqual(check(schema, config), {
      problems: [
        "plugins.entries.my-plugin.config.url must be a string, but is missing.",
        'plugins.entries.my-plugin.config.mode must be one of "fast", "safe", but is "slow".',
        "plugins.entries.my-plugin.config.depth must be at least 1, but is 0.",
        "plugins.entries.my-plugin.config.key must have at least 20 characters, but is a string.",
        "plugins.entries.my-plugin.config.name must match /^[a-z]+$/, but is not.",
        "plugins.entries.my-plugin.config.nested.list[0] must be a number, but is a string.",
      ],
      warnings: ["plugins.entries.my-plugin.config.more is not a known key; it is not used."],
    });
    assert.deepEqual(check(schema, { url: "http://x" }), { problems: [], warnings: [] });
    assert.throws(() => assertPluginConfig(manifestOf(schema), { depth: 20 }), {
      code: "config_invalid",
      message:
        /config\.url must be a string, but is missing \(and 1 more\); correct the plugin's settings\.$/,
    });
    assert.doesNotThrow(() => assertPluginConfig(undefined, 5));
  });

  it("count as empty where absent", () => {
    assert.equal(check(schema, undefined).problems.length, 1);
    assert.deepEqual(check({ type: "object" }, undefined).problems, []);
    assert.deepEqual(check(undefined, 5), { problems: [], warnings: [] });
  });

  it("may have keys that every object inherits", () => {
    const odd = {
      type: "object",
      properties: { constructor: { type: "string" }, toString: { type: "number" } },
    };
    assert.deepEqual(check(odd, {}).problems, []);
    assert.deepEqual(check(odd, { constructor: 5 }).problems, [
      "plugins.entries.my-plugin.config.constructor must be a string, but is a number.",
    ]);
  });

  it("are left to the plugin where its schema cannot be read, with a warning", () => {
    for (const bad of [
      { type: "nope" },
      { $ref: "#" },
      { $ref: "https://x/y" },
      { not: { type: "string" } },
      { pattern: "(", type: "string" },
      { if: {} },
    ]) {
      const { problems, warnings } = check(bad, { a: 1 });
      assert.deepEqual(problems, []);
      assert.match(
        warnings[0] ?? "",
        /^The settings of the plugin my-plugin are not checked, because [^\n]+\.$/,
      );
    }
  });

  longTest("are not checked forever: an infinite schema and an endless pattern time out", () => {
    const twice = { anyOf: [{ $ref: "#" }, { $ref: "#" }], allOf: [{ $ref: "#" }] };
    const slow = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
    const { problems, warnings } = check(slow, { a: `${"a".repeat(60)}!` });
    assert.deepEqual(problems, []);
    assert.match(
      warnings[0] ?? "",
      /not checked, because its configSchema cannot be read \(Script execution timed out/,
    );
    assert.equal(check(twice, { a: 1 }).warnings.length, 1);
  });

  it("may be of any shape, and so may the schema: problems are always reported in sentences", () => {
    const keys = ["a", "constructor", "__proto__"];
    const leaf = fc.oneof(fc.boolean(), fc.integer(), fc.string(), fc.constant(null), fc.constant([]));
    const { schema: any } = fc.letrec((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3, depthSize: "small" },
        leaf,
        fc.record(
          {
            type: fc.constantFrom(
              "object",
              "string",
              "number",
              "integer",
              "array",
              "boolean",
              "null",
              "nope",
              5,
              ["string", "null"],
            ),
            properties: fc.dictionary(fc.constantFrom(...keys), tie("schema"), { maxKeys: 3 }),
            required: fc.oneof(fc.subarray(keys), leaf),
            additionalProperties: tie("schema"),
            items: tie("schema"),
            anyOf: fc.array(tie("schema"), { maxLength: 2 }),
            allOf: fc.array(tie("schema"), { maxLength: 2 }),
            enum: fc.array(leaf, { maxLength: 2 }),
            const: leaf,
            minimum: leaf,
            minLength: leaf,
            pattern: fc.constantFrom("^a", "(", "\n", "["),
            format: fc.constantFrom("uri", "email", "date-time", "x"),
            // A schema that refers to itself twice takes until the deadline, and has a test of its own.
            $ref: fc.constantFrom("#/$defs/a", "http://x", "", "#/nothing"),
            $defs: fc.dictionary(fc.constantFrom(...keys), tie("schema"), { maxKeys: 1 }),
          },
          { requiredKeys: [] },
        ),
      ),
    }));
    const config = fc.oneof(fc.dictionary(fc.constantFrom(...keys), fc.jsonValue()), fc.jsonValue());
    let problems = 0;
    fc.assert(
      fc.property(any, config, (given, value) => {
        const verdict = check(given, value);
        problems += verdict.problems.length;
        for (const sentence of [...verdict.problems, ...verdict.warnings])
          assert.match(sentence, /^[^\n]+\.$/);
      }),
      { numRuns: RUNS },
    );
    assert.ok(problems > 0);
  });
});
