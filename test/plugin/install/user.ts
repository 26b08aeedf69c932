import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { TestContext } from "node:test";
import type { PagurusConfig } from "../../../packages/core/src/config/config-types.ts";
import { parseJson5 } from "../../../packages/core/src/config/json5.ts";
import { silentLogger } from "../../../packages/core/src/platform/log.ts";
import {
  installPlugin,
  type InstallOptions,
  type InstallResult,
} from "../../../packages/host/src/plugin/install/install.ts";
import { parseSource } from "../../../packages/host/src/plugin/install/install-source.ts";
import { loadPlugins } from "../../../packages/host/src/plugin/load-plugins.ts";
import { PluginRegistry } from "../../../packages/host/src/plugin/registry.ts";
import { COMPILE_CACHE } from "../../runner/compile-cache.ts";
import { writeTarball, type TarContent } from "./tarball.ts";

/** The files of a plugin that registers one tool, named after it. */
export function pluginFiles(
  id: string,
  version = "1.0.0",
  more: { manifest?: object; pkg?: object; code?: string; files?: Record<string, TarContent> } = {},
): Record<string, TarContent> {
  const tool = `{ name: "${id.replaceAll(/\W/g, "_")}", description: "${version}", parameters: {}, execute: async () => ({ content: [], isError: false }) }`;
  return {
    "package.json": JSON.stringify({
      name: `${id}-package`,
      version,
      type: "module",
      main: "main.js",
      ...more.pkg,
    }),
    "pagurus.plugin.json": JSON.stringify({ id, kind: "context-engine", ...more.manifest }),
    "main.js": more.code ?? `export default (api) => api.registerTool(${tool});\n`,
    ...more.files,
  };
}

/** A user with an empty home, a registry of tarballs and an npm of the tests' own. */
export class PluginUser {
  readonly root: string;
  readonly home: string;
  readonly env: Record<string, string | undefined>;

  constructor(t: TestContext) {
    this.root = mkdtempSync(join(tmpdir(), "pagurus-plugins-"));
    t.after(() => rmSync(this.root, { recursive: true, force: true }));
    this.home = join(this.root, "home");
    const bin = join(this.root, "bin");
    mkdirSync(bin);
    mkdirSync(join(this.root, "registry"));
    const script = join(import.meta.dirname, "fake-npm.mjs");
    writeFileSync(join(bin, "npm"), `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`);
    chmodSync(join(bin, "npm"), 0o755);
    this.env = {
      PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`,
      HOME: this.root,
      PAGURUS_HOME: this.home,
      FAKE_NPM_REGISTRY: join(this.root, "registry"),
      FAKE_NPM_PID: join(this.root, "npm.pid"),
      ...COMPILE_CACHE,
    };
  }

  /** Puts a package into the registry; answers its tarball. */
  publish(spec: string, files: Record<string, TarContent>): string {
    const file = join(this.root, "registry", `${spec.replace(/^@/, "").replaceAll(/[/@]/g, "-")}.tgz`);
    writeTarball(file, files);
    return file;
  }

  folder(name: string, files: Record<string, TarContent>): string {
    const folder = join(this.root, name);
    mkdirSync(folder, { recursive: true });
    for (const [path, content] of Object.entries(files))
      if (typeof content === "string") writeFileSync(join(folder, path), content);
    return folder;
  }

  options(more: Partial<InstallOptions> = {}): InstallOptions {
    return { home: this.home, env: this.env, ...more };
  }

  install(named: string, more: Partial<InstallOptions> = {}): Promise<InstallResult> {
    return installPlugin(parseSource(named, this.root), this.options(more));
  }

  configure(text: string): void {
    mkdirSync(this.home, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.home, "pagurus.json"), text, { mode: 0o600 });
  }

  get configText(): string {
    return readFileSync(join(this.home, "pagurus.json"), "utf8");
  }

  get config(): PagurusConfig {
    return parseJson5(this.configText, "the file") as PagurusConfig;
  }

  /** What a host would have of the plugins. */
  async load(config: PagurusConfig): Promise<{ tools: string[]; failures: string[] }> {
    const { tools, failures } = await this.registry(config);
    return {
      tools: tools.map(({ name, description }) => `${name} ${description}`),
      failures: failures.map(({ pluginId, reason }) => `${pluginId}: ${reason}`),
    };
  }

  async registry(config: PagurusConfig): Promise<PluginRegistry> {
    const registry = new PluginRegistry({
      config,
      logger: silentLogger,
      baseDir: this.home,
      llmComplete: () => Promise.reject(new Error("not called here")),
    });
    await loadPlugins(registry, { config, home: this.home, deadlineMs: 2_000 });
    return registry;
  }

  /** Paths in the plugins folder, two levels deep, without the lock. */
  get places(): string[] {
    const root = join(this.home, "plugins");
    const names = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return names.flatMap(({ name }) => readdirSync(join(root, name)).map((inner) => `${name}/${inner}`));
  }
}
