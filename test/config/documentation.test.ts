import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { configFromValue } from "../../packages/core/src/config/load-config.ts";
import { parseJson5 } from "../../packages/core/src/config/json5.ts";
import { losslessSettings, sharesOf } from "../../packages/lossless/src/lossless-settings.ts";
import { configJsonSchema, describedSchema } from "../../packages/core/src/config/config-schema.ts";
import { ROOT } from "../../scripts/command.ts";
import { checkConfigurationPage, configurationPage } from "../../scripts/configuration-page.ts";

const text = readFileSync(new URL("../../docs/configuration.md", import.meta.url), "utf8");
const examples = [...text.matchAll(/^```json5\n(.*?)^```$/gms)].map(([, example]) => example ?? "");

/** Names of all keys of a JSON Schema, however deep. */
function keysOf(schema: unknown, found = new Set<string>()): Set<string> {
  if (typeof schema !== "object" || schema === null) return found;
  for (const [name, inner] of Object.entries(schema)) {
    if (name === "properties") for (const key of Object.keys(inner as object)) found.add(key);
    keysOf(inner, found);
  }
  return found;
}

describe("docs/configuration.md", () => {
  it("has an example for each kind of model", () => {
    for (const ref of [
      "openai",
      "anthropic",
      "google",
      "ollama",
      "lmstudio",
      "vllm",
      "openrouter",
      "company",
    ]) {
      assert.ok(
        examples.some((example) => example.includes(`model: "${ref}/`)),
        ref,
      );
    }
  });

  for (const [index, example] of examples.entries()) {
    it(`has a good example ${index + 1}`, () => {
      const loaded = configFromValue(parseJson5(example, "example"), "/home");
      assert.deepEqual(loaded.warnings, []);
    });
  }

  it("names the engine's defaults as they are", () => {
    const { trigger, summariesPerHour } = losslessSettings({});
    const defaultOf = (key: string): string =>
      new RegExp(`^\\| \`${key}\` .*\\| ([^|]*?) *\\|$`, "m").exec(text)?.[1] ?? "";
    assert.match(defaultOf("trigger"), new RegExp(`^${trigger}, or `));
    assert.equal(defaultOf("summariesPerHour"), String(summariesPerHour));
    const { trigger: least } = sharesOf(losslessSettings({}), 100);
    assert.match(defaultOf("trigger"), new RegExp(` ${least} % of the budget$`));
  });

  it("names every key", () => {
    for (const key of keysOf(configJsonSchema())) {
      assert.match(text, new RegExp(`\\b${key}\\b`), key);
    }
  });

  it("has tables that are made from the schema: no key is missing, none is invented (finding E1)", async () => {
    assert.deepEqual(await checkConfigurationPage(ROOT), []);
    const schema = describedSchema();
    const without = text.replace(/^\| `maxSteps`.*\n/m, "");
    assert.notEqual(without, text);
    assert.match(configurationPage(without, schema), /^\| `maxSteps`/m);
    const { agents } = schema["properties"] as Record<
      string,
      { properties: Record<string, { properties: object }> }
    >;
    Object.assign(agents?.properties["defaults"]?.properties ?? {}, { brandNew: { type: "string" } });
    assert.throws(() => configurationPage(text, schema), /agents\.defaults\.brandNew/);
  });

  it("describes each key for editors, with its default (finding E1)", () => {
    const { agents } = configJsonSchema()["properties"] as Record<
      string,
      { properties: Record<string, { properties: Record<string, { description?: string }> }> }
    >;
    const { maxSteps } = agents?.properties["defaults"]?.properties ?? {};
    assert.equal(maxSteps?.description, "maximum model calls of one turn (default: 200)");
  });
});
