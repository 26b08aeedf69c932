import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadFrom, openClawPlugin, reasons, reportedBy } from "./load-plugins.ts";

const SAYS = (text: string): string =>
  `api.registerTool({ name: "says", description: String(${text}), parameters: {}, execute: async () => ({ content: [] }) });`;

describe("imports of openclaw/plugin-sdk", () => {
  it("lead to this host by import, import() and require()", async () => {
    const registry = await loadFrom(
      openClawPlugin(
        SAYS(
          "[typeof jsonResult, typeof required.redactSensitiveText, typeof later.delegateCompactionToRuntime]",
        ),
        `import { createRequire } from "node:module";
import { jsonResult } from "openclaw/plugin-sdk";
const required = createRequire(import.meta.url)("openclaw/plugin-sdk/logging-core");
const name = "openclaw/plugin-sdk/core.js";
const later = await import(name);`,
      ),
    );
    assert.deepEqual(reasons(registry), []);
    assert.equal(reportedBy(registry), "function,function,function");
  });

  it("lead to this host from a CommonJS plugin, and from code made of text", async () => {
    const registry = await loadFrom({
      "claw.cjs": `const { definePluginEntry } = require("openclaw/plugin-sdk/plugin-entry");
module.exports = definePluginEntry({ id: "claw", async register(api) {
  const later = await Function("name", "return import(name)")("openclaw/plugin-sdk/core");
  ${SAYS("typeof later.buildMemorySystemPromptAddition")}
} });`,
    });
    assert.deepEqual(reasons(registry), []);
    assert.equal(reportedBy(registry), "function");
  });

  it("name a missing member that code of a CommonJS plugin calls", async () => {
    const registry = await loadFrom({
      "claw.cjs": `const setup = require("openclaw/plugin-sdk/setup");
module.exports = { id: "claw", register() { (0, setup.createPatchedAccountSetupAdapter)(); } };`,
    });
    assert.match(
      reasons(registry)[0] ?? "",
      /calls createPatchedAccountSetupAdapter of openclaw\/plugin-sdk, which this host does not have/,
    );
  });

  for (const [how, source] of [
    ["a namespace", 'import * as core from "openclaw/plugin-sdk/core";'],
    ["import()", 'const core = await import("openclaw/plugin-sdk/core");'],
  ] as const)
    it(`name a missing member of ${how} that a module calls, which it may test for before`, async () => {
      const registry = await loadFrom({
        "claw.mjs": `${source}
export default { id: "claw", register(api) { if (core.createDedupeCache === undefined) core.createDedupeCache(); } };`,
      });
      assert.match(
        reasons(registry)[0] ?? "",
        /createDedupeCache of openclaw\/plugin-sdk\/core is a name that this host does not have/,
      );
    });

  it("name a missing member that TypeScript calls", async () => {
    const registry = await loadFrom({
      "claw.ts": `import * as infra from "openclaw/plugin-sdk/infra-runtime";
enum Way { In }
export default { id: "claw", register() { (infra as any).resolvePreferredOpenClawTmpDir(Way.In); } };`,
    });
    assert.match(
      reasons(registry)[0] ?? "",
      /calls resolvePreferredOpenClawTmpDir of openclaw\/plugin-sdk\/infra-runtime, which this host/,
    );
  });

  it("do not lead to an openclaw that lies beside the plugin", async () => {
    const registry = await loadFrom({
      ...openClawPlugin(SAYS("typeof jsonResult"), 'import { jsonResult } from "openclaw/plugin-sdk/core";'),
      "claw/node_modules/openclaw/package.json": '{"name": "openclaw", "exports": {"./*": "./index.js"}}',
      "claw/node_modules/openclaw/index.js": "throw new Error('the other host');",
    });
    assert.deepEqual(reasons(registry), []);
    assert.equal(reportedBy(registry), "function");
  });

  it("fail with the module's name where the host has no such module", async () => {
    const registry = await loadFrom(openClawPlugin("", 'await import("openclaw/plugin-sdk/telegram");'));
    assert.match(
      reasons(registry)[0] ?? "",
      /^The plugin imports openclaw\/plugin-sdk\/telegram, which this host/,
    );
  });

  it("fail with the name where the module has no such name", async () => {
    const registry = await loadFrom(
      openClawPlugin("", 'import { loadWebMedia } from "openclaw/plugin-sdk/core";\nloadWebMedia();'),
    );
    assert.match(
      reasons(registry)[0] ?? "",
      /calls loadWebMedia of openclaw\/plugin-sdk\/core, which this host/,
    );
  });

  it("can be tried by a plugin that does not need them", async () => {
    const registry = await loadFrom(
      openClawPlugin(
        SAYS("found"),
        'const found = await import("openclaw/plugin-sdk/telegram").then(() => "there", () => "absent");',
      ),
    );
    assert.deepEqual(reasons(registry), []);
    assert.equal(reportedBy(registry), "absent");
  });
});

describe("a plugin's module", () => {
  it("goes through jiti where a CommonJS package hides its names", async () => {
    const registry = await loadFrom({
      ...openClawPlugin(SAYS("new Hidden().word"), 'import { Hidden } from "hides";'),
      "claw/node_modules/hides/package.json": '{"name": "hides", "main": "index.js"}',
      "claw/node_modules/hides/index.js":
        "const names = { Hidden: class { word = 'seen'; } };\nfor (const name of Object.keys(names)) module.exports[name] = names[name];",
    });
    assert.deepEqual(reasons(registry), []);
    assert.equal(reportedBy(registry), "seen");
  });

  it("goes through jiti where it is TypeScript in a folder of packages, whose types Node does not strip", async () => {
    const registry = await loadFrom(
      {
        "node_modules/claw/package.json":
          '{"name": "claw", "type": "module", "openclaw": {"extensions": ["./index.ts"]}}',
        "node_modules/claw/index.ts": `type Api = Record<string, (tool: object) => void>;\nexport default (api: Api): void => { ${SAYS('"runs"')} };\n`,
      },
      { paths: ["node_modules/claw"] },
    );
    assert.deepEqual(reasons(registry), []);
    assert.equal(reportedBy(registry), "runs");
  });

  it("keeps its own error, and does not run twice", async () => {
    const count = "pagurusCompatRuns";
    const registry = await loadFrom(
      openClawPlugin(
        "",
        `globalThis.${count} = (globalThis.${count} ?? 0) + 1;\nthrow new Error("broken here");`,
      ),
    );
    assert.deepEqual(reasons(registry), ["broken here"]);
    assert.equal((globalThis as Record<string, unknown>)[count], 1);
  });

  it("is for OpenClaw by its manifest, its package or its imports, unless it says that it is for this host", async () => {
    // OpenClaw's api passes a tool the id of its call first, ours its arguments.
    const body =
      'api.registerTool({ name: api.id, description: String("source" in api), parameters: {}, execute: async () => ({ content: [] }) });';
    const plugin = `export default (api) => { ${body} };\n`;
    const registry = await loadFrom(
      {
        "manifest/openclaw.plugin.json": '{"id": "manifest"}',
        "manifest/index.mjs": plugin,
        "package/package.json": '{"name": "package", "openclaw": {"extensions": ["./x.mjs"]}}',
        "package/x.mjs": plugin,
        "imports.mjs": `import "openclaw/plugin-sdk";\n${plugin}`,
        "both/openclaw.plugin.json": '{"id": "both"}',
        "both/pagurus.plugin.json": '{"id": "both"}',
        "both/index.mjs": plugin,
        "own.mjs": plugin,
      },
      { paths: ["manifest", "package", "imports.mjs", "both", "own.mjs"] },
    );
    assert.deepEqual(reasons(registry), []);
    assert.deepEqual(Object.fromEntries(registry.tools.map(({ name, description }) => [name, description])), {
      manifest: "true",
      package: "true",
      imports: "true",
      both: "false",
      own: "false",
    });
  });
});
