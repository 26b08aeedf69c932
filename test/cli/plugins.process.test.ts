import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { execute } from "../../packages/cli/src/cli-program.ts";
import { pluginFiles, PluginUser } from "../plugin/install/user.ts";
import { fakeCli, type FakeCli } from "./fake-cli.ts";
import { Launcher } from "./launch.ts";
import { longTest } from "../runner/long-tests.ts";

interface Ended {
  code: number;
  out: string;
  err: string;
}

class Shell extends PluginUser {
  constructor(t: TestContext) {
    super(t);
    this.env["NO_COLOR"] = "1";
  }

  validate(): Promise<Ended> {
    return this.#run(["config", "validate"]);
  }

  /** Runs one command line; `input` is typed at a terminal. */
  say(argv: string[], input?: string): Promise<Ended> {
    return this.#run(["plugins", ...argv], input);
  }

  async #run(argv: string[], input?: string): Promise<Ended> {
    const cli: FakeCli = fakeCli({ env: this.env, ...(input === undefined ? {} : { input }) });
    cli.cwd = this.root;
    cli.stdin.isTTY = input !== undefined;
    cli.stderr.isTTY = input !== undefined;
    const code = await execute(argv, cli);
    return { code, out: cli.out(), err: cli.err() };
  }

  async json(argv: string[]): Promise<Record<string, unknown>> {
    const { code, out, err } = await this.say([...argv, "--json"]);
    assert.equal(code, 0, err);
    return JSON.parse(out) as Record<string, unknown>;
  }
}

describe("pagurus plugins", () => {
  it("install shows what a plugin is before it is enabled, and enables it on request", async (t) => {
    const shell = new Shell(t);
    const schema = { type: "object", properties: { depth: { type: "integer" } } };
    shell.publish(
      "@acme/eng",
      pluginFiles("eng", "1.2.3", {
        manifest: { configSchema: schema, name: "Eng\u001b[31m\u202e", colour: 1 },
        pkg: { dependencies: { left: "1" }, scripts: { postinstall: "x" } },
      }),
    );
    const asked = await shell.say(["install", "@acme/eng"], "n\n");
    assert.equal(asked.code, 0, asked.err);
    const expected = [
      /^Plugin: {4}eng 1\.2\.3$/m,
      /^Kinds: {5}context-engine$/m,
      /^State: {5}disabled$/m,
      /^From: {6}npm \(@acme\/eng\)$/m,
      /^Integrity: sha512-\S+$/m,
      /^Holds: {5}1 dependency, /m,
      /^Scripts: {3}not run, of eng-package$/m,
      /^Native: {4}no compiled code$/m,
      /^Settings: {2}checked by its schema$/m,
      /^! "colour" of pagurus\.plugin\.json is not a known key/m,
      /^It is not loaded \(disabled\)\. To enable it: pagurus plugins enable eng$/m,
    ];
    for (const line of expected) assert.match(asked.out, line);
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(asked.out, /[\u001b\u202e]/);
    assert.match(asked.err, /with all your rights\.\nEnable it now\? \[y\/N\] $/);
    const again = await shell.say(["install", "@acme/eng"], "y\n");
    assert.match(
      again.out,
      /It is enabled: the next start of pagurus loads it\.\nTo use it as the engine: pagurus config set plugins\.slots\.contextEngine eng\n$/,
    );
    assert.deepEqual(shell.config.plugins?.entries, { eng: { enabled: true } });
  });

  it("install asks no question without a terminal, and accepts --enable and --yes as the answer", async (t) => {
    const shell = new Shell(t);
    const tarball = shell.publish("eng", pluginFiles("eng"));
    const report = await shell.json(["install", tarball]);
    assert.deepEqual([report["id"], report["state"], report["source"]], ["eng", "disabled", "tarball"]);
    assert.equal((await shell.json(["install", tarball, "--enable"]))["state"], "enabled");
    const folder = shell.folder("linked", pluginFiles("linked"));
    const linked = await shell.say(["install", "-l", "./linked", "-y"]);
    assert.match(linked.out, new RegExp(`^From: {6}link to ${folder}$`, "m"));
    assert.match(linked.out, /It is enabled/);
    const list = (await shell.say(["list"])).out;
    assert.match(
      list,
      /^id +version +kinds +origin +state\neng +1\.0\.0 +context-engine +installed +enabled\nlinked +1\.0\.0 +context-engine +linked +enabled\n$/,
    );
  });

  it("reports a problem in one line, and exits 2 for one that the user can fix", async (t) => {
    const shell = new Shell(t);
    const fails: [argv: string[], code: number, error: RegExp][] = [
      [
        ["info", "none"],
        2,
        /^pagurus: No plugin "none" is installed or linked \(there are: none\).*\[plugin_unknown\]\n$/,
      ],
      [["enable", "none"], 2, /\[plugin_unknown\]\n$/],
      [["uninstall", "none"], 2, /\[plugin_unknown\]\n$/],
      [["update", "none"], 2, /\[plugin_unknown\]\n$/],
      [
        ["install", "none"],
        1,
        /^pagurus: npm could not fetch none \(E404: No such package\).*\[plugin_install_failed\]\n$/,
      ],
      [["install", "git+ssh://x/y"], 2, /neither a package.*\[usage_invalid\]\n$/],
      [["install", "--upload-pack=x"], 2, /has no option.*\[usage_invalid\]\n$/],
      [["install", "./none"], 2, /does not exist.*\[usage_invalid\]\n$/],
      [["install", "-l", "./none"], 2, /\[config_invalid\]\n$/],
      [["install", "-l", ".", "--allow-scripts"], 2, /\[usage_invalid\]\n$/],
    ];
    for (const [argv, code, error] of fails) {
      const ended = await shell.say(argv);
      assert.equal(ended.code, code, argv.join(" "));
      assert.match(ended.err, error);
    }
    assert.match((await shell.say(["list"])).out, /^No plugins;/);
  });

  it("config validate checks the settings of enabled plugins by their schemas, and runs nothing", async (t) => {
    const shell = new Shell(t);
    const properties = { depth: { type: "integer" } };
    const configSchema = { type: "object", additionalProperties: false, properties };
    const code = "throw new Error('ran');";
    await shell.install(
      shell.publish("eng", pluginFiles("eng", "1.0.0", { manifest: { configSchema }, code })),
    );
    const entry = (enabled: boolean, config: object): void =>
      shell.configure(JSON.stringify({ plugins: { entries: { eng: { enabled, config } } } }));
    entry(true, { depth: "deep" });
    const wrong = await shell.validate();
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.err,
      /pagurus\.json: plugins\.entries\.eng\.config\.depth must be a number, but is a string\./,
    );
    entry(true, { depth: 1, more: 2 });
    assert.match(
      (await shell.validate()).err,
      /^warning: plugins\.entries\.eng\.config\.more is not a known key/,
    );
    entry(false, { depth: "deep" });
    assert.deepEqual((await shell.validate()).code, 0);
  });

  longTest(
    "update reports a version that cannot be loaded, and of install scripts that did not run",
    async (t) => {
      const shell = new Shell(t);
      const pkg = { scripts: { postinstall: "touch ran" } };
      shell.publish("eng", pluginFiles("eng", "1.0.0", { pkg }));
      await shell.json(["install", "eng", "--enable", "--allow-scripts"]);
      shell.publish("eng", pluginFiles("eng", "1.1.0", { pkg }));
      const updated = await shell.say(["update"]);
      assert.deepEqual(
        [updated.code, updated.out],
        [0, "eng: 1.0.0 → 1.1.0; its install scripts were not run, --allow-scripts runs them.\n"],
      );
      const configSchema = { type: "object", required: ["url"], properties: { url: { type: "string" } } };
      const tarball = shell.publish(
        "eng",
        pluginFiles("eng", "2.0.0", { manifest: { configSchema, colour: 1 } }),
      );
      const refuses = "\nIt is enabled and cannot be loaded: repair it, or pagurus plugins disable eng\n";
      const update = await shell.say(["update"]);
      assert.equal(update.code, 1);
      assert.match(
        update.out,
        /^eng: 1\.1\.0 → 2\.0\.0\.\n✗ plugins\.entries\.eng\.config\.url must be [^\n]+\n! "colour"/,
      );
      assert.ok(update.out.endsWith(refuses), update.out);
      const json = await shell.say(["update", "--json"]);
      const [result] = JSON.parse(json.out) as {
        unchanged: boolean;
        state: string;
        problems: string[];
        warnings: string[];
      }[];
      assert.deepEqual([json.code, result?.unchanged, result?.state], [1, true, "enabled"]);
      assert.deepEqual([result?.problems.length, result?.warnings.length], [1, 1]);
      const over = await shell.say(["install", tarball]);
      assert.equal(over.code, 1);
      assert.ok(over.out.endsWith(refuses), over.out);
      await shell.say(["disable", "eng"]);
      assert.equal((await shell.say(["update"])).code, 0);
      assert.equal((await shell.say(["install", tarball])).code, 0);
    },
  );

  it("list shows no terminal control codes", async (t) => {
    const shell = new Shell(t);
    const manifest = { version: "1\u202e0", kind: "mem\u202eory" };
    await shell.say(["install", "-l", shell.folder("eng", pluginFiles("eng", "1.0.0", { manifest }))]);
    const { out } = await shell.say(["list"]);
    assert.match(out, /mem\\u202eory/);
    assert.doesNotMatch(out, /\u202e/);
  });

  longTest(
    "info reports what only an enabled plugin's registration shows: unused registrations, and a failure (finding C1)",
    async (t) => {
      const shell = new Shell(t);
      const code =
        'export default (api) => { api.on("before_install", () => {}); api.on("llm_input", () => {}); api.on("session_end", () => {}); };\n';
      shell.publish("eng", pluginFiles("eng", "1.0.0", { code }));
      shell.publish(
        "bad",
        pluginFiles("bad", "1.0.0", { code: "export default () => { throw new Error(`not today`); };" }),
      );
      await shell.json(["install", "eng"]);
      const off = await shell.say(["info", "eng"]);
      assert.doesNotMatch(off.out, /llm_input/);
      await shell.json(["enable", "eng"]);
      const on = await shell.say(["info", "eng"]);
      assert.equal(on.code, 0);
      assert.match(on.out, /^Not used: {2}hook before_install, hook llm_input$/m);
      assert.match(
        on.out,
        /^! It has gates that nothing here calls, so they guard nothing: hook before_install\.$/m,
      );
      await shell.json(["install", "bad"]);
      await shell.json(["enable", "bad"]);
      const bad = await shell.say(["info", "bad"]);
      assert.equal(bad.code, 1);
      assert.match(bad.out, /^✗ not today$/m);
    },
  );

  longTest("a plugin's output is not part of a command's output", async (t) => {
    const launcher = new Launcher();
    t.after(() => launcher.remove());
    const plugin = join(launcher.root, "loud.js");
    writeFileSync(plugin, 'export default () => { console.log("printed"); console.table([1]); };');
    mkdirSync(launcher.env.PAGURUS_HOME, { mode: 0o700 });
    const config = { plugins: { load: { paths: [plugin] } } };
    writeFileSync(join(launcher.env.PAGURUS_HOME, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
    const { out, err } = await launcher.runProgram(["plugins", "info", "loud", "--json"]);
    assert.equal((JSON.parse(out) as { id: string }).id, "loud");
    assert.match(err, /printed/);
  });

  longTest(
    "info, disable, update and uninstall report what there is and what they wrote (finding A2)",
    async (t) => {
      const shell = new Shell(t);
      shell.publish("eng", pluginFiles("eng"));
      await shell.json(["install", "eng", "--enable"]);
      shell.configure(shell.configText.replace("lossless", "eng"));
      assert.match((await shell.say(["info", "eng"])).out, /^State: {5}enabled, in the slot contextEngine$/m);
      const disabled = await shell.say(["disable", "eng"]);
      const legacy =
        'plugins.slots.contextEngine is "legacy" now, because it named an engine of this plugin; pagurus config set plugins.slots.contextEngine chooses another.\n';
      assert.equal(disabled.out, `The plugin eng is disabled.\n${legacy}`);
      assert.deepEqual(shell.config.plugins?.slots, { contextEngine: "legacy" });
      assert.equal((await shell.say(["update"])).out, "eng 1.0.0: nothing new.\n");
      shell.publish("eng", pluginFiles("eng", "1.1.0"));
      assert.equal((await shell.say(["update", "eng"])).out, "eng: 1.0.0 → 1.1.0.\n");
      shell.env["FAKE_NPM"] = "fail-pack";
      assert.deepEqual((await shell.say(["update"])).code, 1);
      shell.configure(shell.configText.replace('"legacy"', '"eng"'));
      const gone = await shell.say(["uninstall", "eng"]);
      assert.equal(gone.out, `The plugin eng is uninstalled.\n${legacy}`);
      assert.deepEqual(shell.config.plugins?.slots, { contextEngine: "legacy" });
      assert.deepEqual(await shell.json(["list"]), []);
    },
  );
});
