import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { PagurusConfig } from "../../packages/core/src/config/config-types.ts";
import { silentLogger } from "../../packages/core/src/platform/log.ts";
import { loadPlugins } from "../../packages/host/src/plugin/load-plugins.ts";
import { PluginRegistry } from "../../packages/host/src/plugin/registry.ts";
import { longTest } from "../runner/long-tests.ts";

const root = mkdtempSync(join(tmpdir(), "pagurus-hostile-"));
after(() => rmSync(root, { recursive: true, force: true }));
let made = 0;

const GOOD = `export default (api) => api.registerTool({ name: "good", description: "", parameters: {}, execute: async () => ({ content: [], isError: false }) });`;

/** Far more than a sound plugin takes on a busy machine. */
const LONG_MS = 60_000;
/** For plugins that never end. */
const SHORT_MS = 2_000;

/** Loads plugins by name and code, in order, then a sound one. */
function loadAll(codes: Record<string, string>): ReturnType<typeof load> {
  return load({ ...codes, good: GOOD }, LONG_MS);
}

async function load(
  all: Record<string, string>,
  deadlineMs: number,
): Promise<{ tools: string[]; failed: Record<string, string> }> {
  const home = join(root, String((made += 1)));
  mkdirSync(home);
  for (const [name, code] of Object.entries(all)) writeFileSync(join(home, `${name}.mjs`), code);
  const config: PagurusConfig = {
    plugins: { load: { paths: Object.keys(all).map((name) => `${name}.mjs`) } },
  };
  const registry = new PluginRegistry({
    config,
    logger: silentLogger,
    baseDir: home,
    llmComplete: () => Promise.reject(new Error("not called here")),
  });
  await loadPlugins(registry, { config, home, deadlineMs });
  return {
    tools: registry.tools.map(({ name }) => name),
    failed: Object.fromEntries(registry.failures.map(({ pluginId, reason }) => [pluginId, reason])),
  };
}

const names = (object: object): string[] =>
  [...new Set(Reflect.ownKeys(object).map(String))].toSorted((a, b) => (a < b ? -1 : 1));

describe("a plugin that changes shared objects", () => {
  const before = [Object.prototype, Array.prototype, Function.prototype].map(names);
  const untouched = (): void => {
    assert.deepEqual([Object.prototype, Array.prototype, Function.prototype].map(names), before);
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
    assert.deepEqual(
      [3, 1, 2].toSorted((a, b) => a - b),
      [1, 2, 3],
    );
    assert.equal(Object.prototype.toString.call(null), "[object Null]");
  };

  it("is refused by name, its changes are undone, and the others work", async () => {
    const { tools, failed } = await loadAll({
      "at-import": `Object.prototype.polluted = "x"; ${GOOD.replace('"good"', '"a"')}`,
      "in-register": `export default (api) => { Object.prototype.polluted = 1; Object.prototype.isAdmin = true; };`,
      later: `export default async () => { await 1; Array.prototype.toSorted = function () { return []; }; };`,
      hidden: `export default () => Object.defineProperty(Object.prototype, "polluted", { get: () => 1, configurable: true });`,
      searching: `Array.prototype.flatMap = () => []; Array.prototype.every = () => true; Object.prototype.polluted = 1;`,
      walking: `export default () => { Array.prototype[Symbol.iterator] = function* () {}; Array.prototype.push = () => 0; };`,
      symbol: `export default () => { Object.prototype[Symbol.iterator] = function* () {}; };`,
      described: `export default () => { Object.prototype.get = () => 5; Object.prototype.value = 6; Object.prototype.toString = () => "owned"; };`,
      removed: `export default () => { delete Array.prototype.at; delete Function.prototype.call; };`,
      proto: `export default () => { JSON.parse('{"__proto__": {"polluted": 1}}'); ({}).__proto__.polluted = 1; };`,
      throwing: `Object.prototype.polluted = 1; throw new Error("after the deed");`,
    });
    untouched();
    assert.deepEqual(tools, ["good"]);
    assert.equal(
      failed["at-import"],
      "The plugin at-import changed Object.prototype.polluted, which all code shares; it was undone and the plugin refused; disable or update it.",
    );
    assert.match(failed["in-register"] ?? "", /changed Object\.prototype\.polluted \(and 1 more\)/);
    assert.match(failed["later"] ?? "", /changed Array\.prototype\.toSorted/);
    assert.match(failed["symbol"] ?? "", /changed Object\.prototype\[Symbol\(Symbol\.iterator\)\]/);
    assert.match(failed["removed"] ?? "", /changed Array\.prototype\.at \(and 1 more\)/);
    for (const id of ["searching", "walking", "hidden", "described", "proto", "throwing"])
      assert.match(failed[id] ?? "", new RegExp(`^The plugin ${id} changed `));
  });

  it("is refused, and its changes are undone, also where it never ends", async () => {
    const waiting = `Object.prototype.polluted = 1; setTimeout(() => undefined, 60_000).unref(); await new Promise(() => undefined);`;
    const { tools, failed } = await load({ waiting }, SHORT_MS);
    untouched();
    assert.deepEqual(tools, []);
    assert.match(failed["waiting"] ?? "", /^The plugin waiting changed /);
  });

  it("is reported differently where it cannot be undone", async () => {
    // In a separate process, which stays changed.
    const file = join(root, "frozen.mjs");
    writeFileSync(
      file,
      `export default () => Object.defineProperty(Object.prototype, "stuck", { value: 1 });`,
    );
    const { err } = await child(
      `const { tools, failed } = await load(${JSON.stringify(file)}); console.error(JSON.stringify(failed));`,
    );
    assert.match(
      err,
      /changed Object\.prototype\.stuck, which all code shares; it cannot be undone in this process; end it/,
    );
  });
});

describe("a plugin that breaks", () => {
  it("is contained and named, whatever it throws", async () => {
    const { tools, failed } = await loadAll({
      a: "throw undefined;",
      b: "throw Object.create(null);",
      c: "throw new Proxy({}, { get() { throw 1; }, getPrototypeOf() { throw 2; } });",
      d: "const e = new Error(); Object.defineProperty(e, 'message', { get() { throw 1; } }); throw e;",
      e: "export default () => ({ then() { throw new Error('thenable'); } });",
      f: "export default { get register() { throw new Error('getter'); } };",
      g: "export default new Proxy(() => undefined, { apply() { throw new Error('trap'); } });",
      i: "export default (api) => { api.registerTool(null); };",
      j: `export default (api) => { const tool = { name: "x", description: "", parameters: {}, execute() {} }; api.registerTool(tool); api.registerTool(tool); };`,
      k: `export default (api) => { api.registerContextEngine("__proto__", () => 1); api.registerContextEngine({ toString() { throw 1; } }, () => 1); };`,
    });
    assert.deepEqual(tools, ["good"]);
    assert.deepEqual(Object.keys(failed).toSorted(), "abcdefgijk".split(""));
    for (const reason of Object.values(failed)) assert.match(reason, /^[^\n]+$/);
    assert.match(failed["j"] ?? "", /The plugin j registers the tool x twice/);
  });

  it("is named where it never ends", async () => {
    const { failed } = await load({ h: "export default () => ({ then() {} });" }, SHORT_MS);
    assert.match(failed["h"] ?? "", /took longer than 2 s/);
  });

  longTest("is named also when it blocks the process forever", async () => {
    const file = join(root, "endless.mjs");
    writeFileSync(file, "for (;;);");
    const { err } = await child(`await load(${JSON.stringify(file)}, 300);`, /has blocked the whole process/);
    assert.match(
      err,
      /^pagurus: The plugin "endless" has blocked the whole process for \d+ s while it is loaded; if this does not end, end process \d+/m,
    );
  });
});

/** Runs code with a `load(path)` in a process; `until` ends it once standard error holds that. */
async function child(code: string, until?: RegExp): Promise<{ err: string }> {
  const source = (name: string): string =>
    JSON.stringify(new URL(`../../packages/${name}.ts`, import.meta.url).href);
  const setup = `
    import { loadPlugins } from ${source("host/src/plugin/load-plugins")};
    import { PluginRegistry } from ${source("host/src/plugin/registry")};
    import { silentLogger } from ${source("core/src/platform/log")};
    async function load(path, deadlineMs = ${LONG_MS}) {
      const config = { plugins: { load: { paths: [path] } } };
      const registry = new PluginRegistry({ config, logger: silentLogger, baseDir: "/", llmComplete: () => Promise.reject(new Error("no")) });
      await loadPlugins(registry, { config, home: ${JSON.stringify(root)}, deadlineMs });
      return { tools: registry.tools, failed: registry.failures };
    }`;
  const running = spawn(process.execPath, ["--input-type=module-typescript", "--eval", `${setup}\n${code}`], {
    stdio: ["ignore", "inherit", "pipe"],
    timeout: 120_000,
    killSignal: "SIGKILL",
  });
  let err = "";
  running.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    if (until?.test(err)) running.kill("SIGKILL");
  });
  await new Promise((resolve) => running.once("close", resolve));
  assert.ok(existsSync(root));
  return { err };
}
