import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import type { PagurusConfig } from "../../packages/core/src/config/config-types.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { loadPlugins } from "../../packages/host/src/plugin/load-plugins.ts";
import { LoadingWatch } from "../../packages/host/src/plugin/watchdog.ts";
import { PluginRegistry } from "../../packages/host/src/plugin/registry.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-plugins-"));
after(() => rmSync(root, { recursive: true, force: true }));

let homes = 0;
async function loadFrom(
  files: Record<string, string>,
  paths: string[],
  entries: Record<string, { enabled?: boolean; config?: unknown }> = {},
): Promise<PluginRegistry> {
  homes += 1;
  const home = join(root, `home-${homes}`);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  }
  const config: PagurusConfig = { plugins: { entries, load: { paths } } };
  const registry = new PluginRegistry({
    config,
    logger: silentLogger,
    baseDir: home,
    llmComplete: () => Promise.reject(new Error("not called here")),
  });
  await loadPlugins(registry, { config, home, deadlineMs: 60_000 });
  return registry;
}

/** A plugin that registers a tool of this name, with the plugin's id as description. */
const tool = (name: string): string =>
  `(api) => api.registerTool({ name: "${name}", description: api.id + " " + api.resolvePath("."), parameters: {}, execute: async () => ({ content: [], isError: false }) })`;
const moduleWith = (name: string): string => `export default ${tool(name)};\n`;

function idsOf(registry: PluginRegistry): (string | undefined)[] {
  return registry.tools.map(({ description }) => description.split(" ")[0]);
}

describe("loading plugins", () => {
  it("takes files in JavaScript and TypeScript, functions and objects", async () => {
    const registry = await loadFrom(
      {
        "one.mjs": moduleWith("one"),
        "two.ts": `type Api = { registerTool(tool: object): void; id: string; resolvePath(p: string): string };\nexport default { register: ${tool("two").replace("(api)", "(api: Api)")} };\n`,
        "three.mjs": `export const register = ${tool("three")};\n`,
        "four.cjs": `module.exports = { register: ${tool("four")} };\n`,
      },
      ["one.mjs", "./two.ts", "three.mjs", "four.cjs"],
    );
    assert.deepEqual(registry.failures, []);
    assert.deepEqual(
      registry.tools.map(({ name }) => name),
      ["one", "two", "three", "four"],
    );
    assert.deepEqual(idsOf(registry), ["one", "two", "three", "four"]);
  });

  it("takes folders by their manifest, package and index, and names them so", async () => {
    const pkg = (fields: object): string => JSON.stringify({ type: "module", ...fields });
    const registry = await loadFrom(
      {
        "a/package.json": pkg({
          name: "pkg-a",
          exports: { ".": { types: "./x.d.ts", import: "./lib/a.js" } },
        }),
        "a/lib/a.js": moduleWith("a"),
        "b/package.json": pkg({ name: "pkg-b", main: "b.js", openclaw: { extensions: ["./plugin.ts"] } }),
        "b/openclaw.plugin.json": '{"id": "claw-b"}',
        "b/plugin.ts": moduleWith("b"),
        "b/b.js": "throw new Error('not this one');",
        "c/index.mjs": moduleWith("c"),
        "d/pagurus.plugin.json": '{"id": "own-d"}',
        "d/openclaw.plugin.json": '{"id": "claw-d"}',
        "d/index.ts": moduleWith("d"),
        "e/package.json": pkg({ name: "pkg-e", exports: "./e.js" }),
        "e/e.js": moduleWith("e"),
      },
      ["a", "b", "c", "d", "e"],
    );
    assert.deepEqual(registry.failures, []);
    assert.deepEqual(idsOf(registry), ["pkg-a", "claw-b", "c", "own-d", "pkg-e"]);
    assert.match(registry.tools[0]?.description ?? "", /\/a$/);
  });

  it("skips a disabled plugin without running it", async () => {
    const registry = await loadFrom({ "p/index.mjs": "throw new Error('ran');" }, ["p"], {
      p: { enabled: false },
    });
    assert.deepEqual(registry.failures, []);
  });

  it("records why a plugin failed, and continues with the others", async () => {
    const registry = await loadFrom(
      {
        "throws.mjs": "throw new Error('at import');",
        "syntax.mjs": "export default (;",
        "waits.mjs": "setTimeout(() => undefined, 60_000).unref(); await new Promise(() => undefined);",
        "none.mjs": "export const x = 1;",
        "empty/readme.md": "",
        "json/package.json": "{",
        "text.txt": "",
        "good.mjs": moduleWith("good"),
      },
      ["throws.mjs", "syntax.mjs", "none.mjs", "empty", "json", "text.txt", "missing", "good.mjs"],
    );
    const reasons = Object.fromEntries(registry.failures.map(({ pluginId, reason }) => [pluginId, reason]));
    assert.equal(reasons["throws"], "at import");
    assert.ok(reasons["syntax"]);
    assert.match(reasons["none"] ?? "", /has no register function/);
    assert.match(reasons["empty"] ?? "", /has no module \(looked for index\.js, index\.mjs, index\.ts\)/);
    assert.match(reasons["json"] ?? "", /package\.json is not valid JSON/);
    assert.match(reasons["text"] ?? "", /neither a folder nor a JavaScript or TypeScript file/);
    assert.match(reasons["missing"] ?? "", /does not exist/);
    assert.ok(registry.failures.every(({ path }) => path?.startsWith(root)));
    assert.deepEqual(idsOf(registry), ["good"]);
  });

  it("judges a plugin that is not built by its sources, and needs one without any code", async () => {
    const manifest = (name: string): string => JSON.stringify({ name, main: "dist/index.js" });
    const registry = await loadFrom(
      {
        "unbuilt/package.json": manifest("unbuilt"),
        "unbuilt/src/main.ts": `export default (api) => api.on("message_received", () => undefined);`,
        "unbuilt-gate/package.json": manifest("unbuilt-gate"),
        "unbuilt-gate/src/main.ts": `export default (api) => api.on("before_tool_call", () => undefined);`,
        "no-code/package.json": manifest("no-code"),
      },
      ["unbuilt", "unbuilt-gate", "no-code", "missing"],
    );
    assert.deepEqual(
      Object.fromEntries(registry.failures.map(({ pluginId, needed }) => [pluginId, needed])),
      {
        unbuilt: undefined,
        "unbuilt-gate": "is a gate (before_tool_call)",
        "no-code": "cannot be read and may be a gate",
        missing: "cannot be read and may be a gate",
      },
    );
    assert.match(registry.failures[0]?.reason ?? "", /looked for index\.js, index\.mjs, index\.ts\)/);
  });

  it("has separate deadlines for importing and registering before it names a plugin", async (t) => {
    const order: string[] = [];
    t.mock.method(LoadingWatch.prototype, "begin", () => order.push("watch"));
    const key = "pagurus test order";
    Object.assign(globalThis, { [key]: order });
    t.after(() => Reflect.deleteProperty(globalThis, key));
    const note = (what: string): string => `globalThis[${JSON.stringify(key)}].push("${what}");`;
    await loadFrom({ "p.mjs": `${note("import")} export default () => { ${note("register")} };` }, ["p.mjs"]);
    assert.deepEqual(order, ["watch", "import", "watch", "register"]);
  });

  it("does nothing without a list", async () => {
    const registry = await loadFrom({}, []);
    assert.deepEqual([registry.failures, registry.tools], [[], []]);
  });
});
