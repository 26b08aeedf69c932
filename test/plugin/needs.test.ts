import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PluginManifest } from "../../packages/host/src/plugin/manifest.ts";
import { assertNeedsMet, unmetNeeds } from "../../packages/host/src/plugin/needs.ts";

function manifestOf(needs: PluginManifest["needs"]): PluginManifest {
  return { id: "mine", kinds: [], declared: true, modules: [], needs, commandAliases: {}, warnings: [] };
}

describe("the versions that a plugin asks for", () => {
  it("are met by this one, or the plugin is refused with both versions", () => {
    for (const range of ["*", ">=0.1.0-beta", "^0.1.0 || ^9"])
      assert.deepEqual(unmetNeeds(manifestOf({ pagurus: range })), { problems: [], warnings: [] }, range);
    assert.throws(() => assertNeedsMet(manifestOf({ pagurus: ">=99" })), {
      code: "engine_contract",
      message:
        /^The plugin mine was written for Pagurus ">=99", and this is \d+\.\d+\.\d+\S*; install a version made for this one\.$/,
    });
    assert.doesNotThrow(() => assertNeedsMet(undefined));
  });

  it("are only warnings where they are Node.js's, or not versions at all", () => {
    const { problems, warnings } = unmetNeeds(manifestOf({ node: "<20", pagurus: "next\nline" }));
    assert.deepEqual(problems, []);
    assert.deepEqual(
      warnings.map((warning) => warning.replace(process.versions.node, "VERSION")),
      [
        'The plugin mine requires Pagurus "next\\nline", which is not a version range.',
        'The plugin mine was written for Node.js "<20", and this is VERSION.',
      ],
    );
  });
});
