import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { registerBundled } from "../../packages/app/src/bundled.ts";
import {
  BUNDLED_ENGINES,
  BUNDLED_MEMORIES,
  BUNDLED_RUNTIMES,
  EMBEDDED_RUNTIME,
  isBundledId,
} from "../../packages/core/src/config/bundled.ts";
import { configFromValue } from "../../packages/core/src/config/load-config.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import {
  findKnown,
  linkPlugin,
  setEnabled,
  uninstallPlugin,
} from "../../packages/host/src/plugin/install/manage.ts";
import { PluginRegistry } from "../../packages/host/src/plugin/registry.ts";
import { loadPlugins } from "../../packages/host/src/plugin/load-plugins.ts";
import { loadConfig } from "../../packages/core/src/config/load-config.ts";
import { createToolSet } from "../../packages/host/src/tool/toolset.ts";
import { isBundledTool } from "../../packages/core/src/config/bundled.ts";

function homeOf(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "pagurus-bundled-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

function registryOf(home: string, config = {}): PluginRegistry {
  const llmComplete = (): Promise<never> => Promise.reject(new Error("not called here"));
  return new PluginRegistry({ config, logger: silentLogger, baseDir: home, llmComplete });
}

describe("the list of bundled parts", () => {
  it("names exactly what the host registers, and no plugin of others can have any of these ids (finding A7)", async (t) => {
    const home = homeOf(t);
    const registry = registryOf(home);
    await registerBundled(registry, {
      loaded: configFromValue({}, home),
      home,
      env: {},
      logger: silentLogger,
    });
    assert.deepEqual(registry.failures, []);
    assert.deepEqual(registry.engineIds.toSorted(), [...BUNDLED_ENGINES].toSorted());
    assert.ok(BUNDLED_MEMORIES.every((id) => registry.memory(id) !== undefined));
    const runtimes = registry.harnesses.flatMap(({ id, aliases = [] }) => [id, ...aliases]);
    assert.deepEqual(runtimes.toSorted(), [...EMBEDDED_RUNTIME, ...BUNDLED_RUNTIMES].toSorted());
    const ids = [...BUNDLED_ENGINES, ...BUNDLED_MEMORIES, ...runtimes, "pagurus", "caller"];
    for (const id of ids) {
      assert.ok(isBundledId(id), id);
      const file = join(home, `${id}.mjs`);
      writeFileSync(file, "export default () => undefined;");
      await assert.rejects(() => linkPlugin(home, file), { code: "plugin_duplicate_id" }, id);
    }
  });

  it("names the host's tools (finding A7)", (t) => {
    const set = createToolSet({
      cwd: homeOf(t),
      permission: { mode: "deny" },
      context: { sessionKey: "main", sessionId: "one" },
    });
    for (const { name } of set.specs) assert.ok(isBundledTool(name), name);
  });
});

describe("a plugin with the id of a bundled part that is linked already", () => {
  it("is refused with advice that keeps the bundled part enabled (finding A7)", async (t) => {
    const home = homeOf(t);
    const file = join(home, "acp.mjs");
    writeFileSync(file, "export default () => undefined;");
    const text = JSON.stringify({
      plugins: { load: { paths: [file] }, entries: { acp: { enabled: true, config: { agents: {} } } } },
    });
    writeFileSync(join(home, "pagurus.json"), text, { mode: 0o600 });
    const { config } = loadConfig({ home });
    const registry = registryOf(home, config);
    await loadPlugins(registry, { config, home });
    const [failure] = registry.failures;
    assert.match(failure?.reason ?? "", /belongs to Pagurus itself.*pagurus plugins uninstall \S+acp\.mjs/);
    assert.equal(failure?.needed, undefined);
    await assert.rejects(() => setEnabled(home, "acp", false), { code: "plugin_duplicate_id" });
    await uninstallPlugin(home, file);
    assert.throws(() => findKnown(home, "acp"), { code: "plugin_unknown" });
    assert.deepEqual(loadConfig({ home }).config.plugins?.entries, {
      acp: { enabled: true, config: { agents: {} } },
    });
  });
});
