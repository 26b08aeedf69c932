/** Tests that a conformance run leaves a user's own files alone. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, watch, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, it } from "node:test";
import { longSuite } from "../runner/long-tests.ts";
import { pathToFileURL } from "node:url";
import { ROOT } from "../../scripts/command.ts";
import { Launcher, type Ended } from "../cli/launch.ts";

/** A plugin that writes where the user's home and the environment point. */
const WRITES = `
import { appendFileSync, mkdirSync, readFileSync, existsSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { readVisibleSessionTranscriptMessageEntries } from "openclaw/plugin-sdk/session-transcript-runtime";

const env = process.env;
const FOLDERS = {
  home: join(homedir(), ".openclaw"), state: env.OPENCLAW_STATE_DIR, pagurus: env.PAGURUS_HOME, tmp: tmpdir(),
  config: env.XDG_CONFIG_HOME, data: env.XDG_DATA_HOME, xdgState: env.XDG_STATE_HOME, cache: env.XDG_CACHE_HOME,
  cwd: process.cwd(),
};
export function write(configured) {
  for (const [name, folder] of Object.entries({ ...FOLDERS, configured })) {
    if (folder === undefined) throw new Error(name + " is not set");
    mkdirSync(folder, { recursive: true });
    if (existsSync(join(folder, "mine"))) throw new Error(name + " is the user's own");
    appendFileSync(join(folder, "lcm.db"), "a message");
  }
  if (env.SECRET_KEY !== undefined) throw new Error("the environment is the user's own");
}`;

const ENGINE = `
import { readVisibleSessionTranscriptMessageEntries } from "openclaw/plugin-sdk/session-transcript-runtime";
import { write } from "./writes.mjs";
export default (api) => {
  write(api.pluginConfig.store);
  api.registerContextEngine("writer", () => ({
    info: { id: "writer", name: "Writer", history: "live",
      transcriptSemantics: { currentTurnFence: "before-current-turn-entry-v1", turnAdvancementIdempotency: "atomic-idempotent-v1" } },
    ingest: async () => ({ ingested: false }),
    commitTurn: async () => { write(api.pluginConfig.store); return { status: "committed" }; },
    assemble: async ({ runtimeContext, messages }) => {
      const entries = await readVisibleSessionTranscriptMessageEntries(runtimeContext.sessionTarget);
      const held = entries.map(({ message }) => message);
      return { messages: held, estimatedTokens: runtimeContext.tokens(held) };
    },
    compact: async () => ({ ok: true, compacted: false, reason: "it never compacts" }),
  }));
};`;

const SETTINGS = (file: string): string =>
  JSON.stringify({ plugins: { entries: { [file]: { config: { store: "~/store" } } } } });

longSuite("the home of a user while a suite runs", () => {
  let user: Launcher;
  let home: string;
  let plugins: string;
  let before: string[];
  const touched: string[] = [];

  beforeEach(() => {
    user = new Launcher();
    home = join(user.root, "user");
    plugins = join(user.root, "plugins");
    const env = {
      HOME: home,
      PAGURUS_HOME: join(home, ".pagurus"),
      OPENCLAW_STATE_DIR: join(home, ".openclaw"),
      XDG_CONFIG_HOME: join(home, ".config"),
      XDG_DATA_HOME: join(home, ".local/share"),
      XDG_STATE_HOME: join(home, ".local/state"),
      XDG_CACHE_HOME: join(home, ".cache"),
      TMPDIR: join(user.root, "tmp"),
      SECRET_KEY: "of the user",
    };
    Object.assign(user.env, env);
    for (const folder of [...Object.values(env).slice(1, -2), join(home, "store")])
      put(join(folder, "mine"), "what the user keeps");
    put(join(home, ".openclaw/lcm.db"), "a database");
    put(join(home, ".pagurus/pagurus.json"), SETTINGS("plugin"));
    put(join(plugins, "writes.mjs"), WRITES);
    mkdirSync(env.TMPDIR);
    before = scan(home);
    touched.length = 0;
  });
  afterEach(() => user.remove());

  function put(file: string, text: string): void {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Runs the command with a watcher on the home, whose changes may be gone when the run ends. */
  async function watched(args: string[]): Promise<Ended> {
    const watcher = watch(home, { recursive: true }, (_event, name) => void touched.push(String(name)));
    try {
      return await user.runProgram(args);
    } finally {
      watcher.close();
    }
  }

  function mustBeUntouched(): void {
    assert.deepEqual(touched, []);
    assert.deepEqual(scan(home), before);
    assert.deepEqual(readdirSync(join(user.root, "tmp")), []);
  }

  it("is untouched by the engine of a plugin that writes wherever its environment says (finding A6)", async () => {
    put(join(plugins, "plugin.mjs"), ENGINE);
    const { code, out, err } = await watched([
      "engines",
      "test",
      join(plugins, "plugin.mjs"),
      "--only",
      "settle.turns",
    ]);
    assert.deepEqual([code, err], [0, ""], out);
    assert.match(out, /^1 passed, 0 failed, 0 skipped\.$/m);
    mustBeUntouched();
  });

  it("is untouched by the runtime of a plugin that writes wherever its environment says (finding A6)", async () => {
    const example = pathToFileURL(join(ROOT, "examples/program/index.js")).href;
    const code = `import { write } from "./writes.mjs"; import register from ${JSON.stringify(example)};
      export default (api) => { write(api.pluginConfig.store); return register(api); };`;
    put(join(plugins, "plugin.mjs"), code);
    const args = ["runtimes", "test", "example-program", "--plugin", join(plugins, "plugin.mjs")];
    const { code: exit, out, err } = await watched([...args, "--only", "info.supports"]);
    assert.deepEqual([exit, err], [0, ""], out);
    assert.match(out, /^1 passed, 0 failed, 0 skipped\.$/m);
    mustBeUntouched();
  });

  it("ends with an error sentence when a plugin ends the process of the suite (finding A6)", async () => {
    put(join(plugins, "plugin.mjs"), "export default () => process.exit(3);");
    const { code, err } = await user.run(["engines", "test", join(plugins, "plugin.mjs")]);
    assert.equal(code, 2);
    assert.match(
      err,
      /^pagurus: The process of the suite ended \(3\) before the suite did.* \[plugin_failed\]$/m,
    );
  });
});

/** Every file and folder with its size, modification time and, for a file, its content. */
function scan(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => {
      const file = join(root, name);
      const { mtimeMs, size } = statSync(file);
      return `${name} ${size} ${mtimeMs} ${statSync(file).isFile() ? readFileSync(file, "utf8") : ""}`;
    });
}
