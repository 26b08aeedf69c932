/** Loads plugins from source texts with the real loader into a separate registry. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { silentLogger, type Logger } from "../../../packages/core/src/platform/log.ts";
import { loadPlugins } from "../../../packages/host/src/plugin/load-plugins.ts";
import { PluginRegistry } from "../../../packages/host/src/plugin/registry.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-compat-"));
after(() => rmSync(root, { recursive: true, force: true }));
let homes = 0;

/** The registry after loading `paths` (default: the first folder or file of `files`). */
export async function loadFrom(
  files: Record<string, string>,
  options: { paths?: string[]; config?: Record<string, unknown>; logger?: Logger } = {},
): Promise<PluginRegistry> {
  const home = join(root, `home-${++homes}`);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  }
  const paths = options.paths ?? [(Object.keys(files)[0] ?? "").split("/")[0] ?? ""];
  const config = { ...options.config, plugins: { load: { paths } } };
  const registry = new PluginRegistry({
    config,
    logger: options.logger ?? silentLogger,
    baseDir: home,
    llmComplete: () => Promise.reject(new Error("not called here")),
  });
  await loadPlugins(registry, { config, home, deadlineMs: 5_000 });
  return registry;
}

/** Files of an OpenClaw plugin whose `register(api)` has this body. */
export function openClawPlugin(body: string, head = ""): Record<string, string> {
  return {
    "claw/package.json": '{"name": "claw", "type": "module", "openclaw": {"extensions": ["./index.js"]}}',
    "claw/openclaw.plugin.json": '{"id": "claw"}',
    "claw/index.js": `${head}\nexport default { register(api) { ${body} } };\n`,
  };
}

/** Description of the tool with which a test plugin reports something. */
export function reportedBy(registry: PluginRegistry, tool = "says"): string | undefined {
  return registry.tools.find(({ name }) => name === tool)?.description;
}

export function reasons(registry: PluginRegistry): string[] {
  return registry.failures.map(({ reason }) => reason);
}
